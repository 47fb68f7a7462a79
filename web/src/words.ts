/** Numbers as a reader wants them: the same words as tfadvisor/units.py. */

export function inWords(value: number, unit: string): string {
  switch (unit) {
    case "fraction":
      return percent(value);
    case "bytes":
      return size(value);
    case "count":
      return count(value);
    case "GB/s":
      return `${Number(value.toPrecision(3))} GB/s`;
    case "us":
      return duration(value / 1000);
    case "ms":
      return duration(value);
    default:
      return `${threeDigits(value)} ${unit}`;
  }
}

/** `0.382` -> `38%`; one decimal below 10%, so that small shares do not vanish. */
export function percent(fraction: number): string {
  const scaled = fraction * 100;
  return `${Math.abs(scaled) >= 10 || scaled === 0 ? scaled.toFixed(0) : scaled.toFixed(1)}%`;
}

/** Three significant digits in the unit that fits: ns, µs, ms or s. */
export function duration(milliseconds: number): string {
  const magnitude = Math.abs(milliseconds);
  if (magnitude >= 1000) return `${threeDigits(milliseconds / 1000)} s`;
  if (magnitude >= 1 || magnitude === 0) return `${threeDigits(milliseconds)} ms`;
  if (magnitude >= 0.001) return `${threeDigits(milliseconds * 1000)} µs`;
  return `${threeDigits(milliseconds * 1e6)} ns`;
}

/** With its sign: `+1.2 ms`. */
export function change(milliseconds: number): string {
  return `${milliseconds > 0 ? "+" : milliseconds < 0 ? "−" : "±"}${duration(Math.abs(milliseconds))}`;
}

export function size(bytes: number): string {
  let number = bytes;
  for (const prefix of ["B", "KiB", "MiB", "GiB"]) {
    if (Math.abs(number) < 1024) return `${threeDigits(number)} ${prefix}`;
    number /= 1024;
  }
  return `${threeDigits(number)} TiB`;
}

export function count(number: number): string {
  if (Number.isInteger(number)) return grouped(number, 0);
  return grouped(number, Math.abs(number) < 100 ? 1 : 0);
}

/** `saves 38–77% of step time`; empty when a finding saves nothing on its own. */
export function savingWords(saving: { low: number; high: number }): string {
  if (saving.high <= 0) return "";
  const [low, high] = [percent(saving.low), percent(saving.high)];
  return low === high ? `up to ${high} of step time` : `${low.replace("%", "")}–${high} of step time`;
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

function threeDigits(number: number): string {
  const magnitude = Math.abs(number);
  if (magnitude >= 100 || Number.isInteger(number)) return grouped(number, 0);
  return number.toFixed(magnitude >= 10 ? 1 : 2);
}

/** One for each number of decimals: making a format takes longer than a thousand uses of it. */
const FORMATS = [0, 1].map((decimals) => new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }));

function grouped(number: number, decimals: 0 | 1): string {
  return FORMATS[decimals]!.format(number);
}
