/** The words along a time axis: neighbours differ at any zoom, since a closer look tells offsets from one round time. */

/** ns. base: what the offsets are from, 0 where they are whole times; its words are "" then. */
export interface Ticks {
  base: number;
  baseWords: string;
  ticks: { time: number; x: number; words: string }[];
}

const APART = 96;
/** From so many steps between two labels and zero on, labels tell offsets. */
const LONG = 1000;

/** from, to: the window, ns. width: px. */
export function timeTicks(from: number, to: number, width: number): Ticks {
  const step = roundStep(((to - from) / Math.max(width, 1)) * APART);
  const round = 10 ** Math.ceil(Math.log10(Math.max(to - from, 1)));
  const base = to / step <= LONG ? 0 : Math.floor(from / round) * round;
  const ticks: Ticks["ticks"] = [];
  for (let number = Math.ceil(from / step); number * step <= to; number += 1) {
    const time = number * step;
    ticks.push({ time, x: ((time - from) / (to - from)) * width, words: `${base === 0 ? "" : "+"}${exactly(time - base, step)}` });
  }
  return { base, baseWords: base === 0 ? "" : exactly(base, round), ticks };
}

/** 1, 2 or 5 times a power of ten, at least 1 ns. */
function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return [1, 2, 5].map((one) => one * power).find((one) => one >= rough) ?? power * 10;
}

const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/** A time with the digits that a pixel of so many ns shows. */
export function toThePixel(ns: number, pixel: number): string {
  return exactly(Math.round(ns), 10 ** Math.max(Math.floor(Math.log10(pixel)), 0));
}

/** A time with all digits that a multiple of `step` has: `11.9335 ms`. ns. */
export function exactly(ns: number, step: number): string {
  const [size, unit] = UNITS.find(([one]) => Math.abs(ns) >= one) ?? (ns === 0 ? UNITS.find(([one]) => step >= one) ?? UNITS[3]! : UNITS[3]!);
  const decimals = Math.min(Math.max(Math.ceil(Math.log10(size / step) - 1e-9), 0), 9);
  const words = (ns / size).toFixed(decimals);
  return `${decimals === 0 ? words : words.replace(/\.?0+$/, "")} ${unit}`;
}
