import { describe, expect, it } from "vitest";
import { exactly, timeTicks, toThePixel } from "../src/timeline/axis.js";

const words = (from: number, to: number, width = 800): string[] => timeTicks(from, to, width).ticks.map((one) => one.words);

describe("the words along the axis", () => {
  it("are whole times while the step is in view", () => {
    // 40 ms on 800 px: a label every 96 px is one every 4.8 ms, rounded up to 5 ms.
    expect(words(0, 40e6)).toEqual(["0 ms", "5 ms", "10 ms", "15 ms", "20 ms", "25 ms", "30 ms", "35 ms", "40 ms"]);
    expect(timeTicks(0, 40e6, 800).baseWords).toBe("");
  });

  it("tell neighbours apart at any zoom", () => {
    for (const width of [100, 1e3, 1e4, 1e5, 1e6, 1e7]) {
      for (const from of [0, 11_933_421, 697_123_456_789]) {
        const found = words(from, from + width);
        expect(found.length).toBeGreaterThan(3);
        expect(new Set(found).size).toBe(found.length);
      }
    }
  });

  it("are offsets from a round time far into the step", () => {
    // 4 µs at 11.9 ms: steps of 500 ns, from the round time at or before the window.
    const found = timeTicks(11_933_400, 11_937_400, 800);
    expect(found.baseWords).toBe("11.93 ms");
    expect(found.ticks[0]!.words).toBe("+3.5 µs");
    expect(found.ticks[1]!.words).toBe("+4 µs");
  });

  it("keep every digit that differs", () => {
    expect(exactly(11_933_500, 500)).toBe("11.9335 ms");
    expect(exactly(2_000, 1000)).toBe("2 µs");
    expect(exactly(0, 1e6)).toBe("0 ms");
  });
});

it("a time at the pointer has the digits of its pixel", () => {
  // 10.7 ms chosen, a thousandth of it 10.7 µs: digits of 10 µs.
  expect(toThePixel(9_328_691, 10_700)).toBe("9.33 ms");
  expect(toThePixel(0, 10_700)).toBe("0 µs");
  expect(toThePixel(11_933_421, 4)).toBe("11.933421 ms");
});
