import { describe, expect, it } from "vitest";
import { WORDS } from "./generated_words.js";
import { change, count, duration, inWords, percent, savingWords, size } from "../src/words.js";

describe("numbers in words, as tfadvisor/units.py says them", () => {
  it.each([
    [0.382, "38%"],
    [0.004, "0.4%"],
    [0, "0%"],
    [1, "100%"],
  ])("%f is %s", (fraction, words) => { expect(percent(fraction)).toBe(words); });

  it.each([
    [1234, "1.23 s"],
    [123.4, "123 ms"],
    [12.34, "12.3 ms"],
    [1, "1 ms"],
    [0.0123, "12.3 µs"],
    [0.00001, "10 ns"],
    [0, "0 ms"],
  ])("%f ms is %s", (milliseconds, words) => { expect(duration(milliseconds)).toBe(words); });

  it.each(WORDS)("%f in %s is %s", (value, unit, words) => { expect(inWords(value, unit)).toBe(words); });

  it("counts and sizes", () => {
    expect(count(1234567)).toBe("1,234,567");
    expect(count(1.25)).toBe("1.3");
    expect(size(1536)).toBe("1.50 KiB");
    expect(inWords(2.5, "GB/s")).toBe("2.5 GB/s");
    expect(inWords(12.5, "us")).toBe("12.5 µs");
  });

  it("a change has its sign, a saving its range", () => {
    expect(change(-1.5)).toBe("−1.50 ms");
    expect(change(2)).toBe("+2 ms");
    expect(savingWords({ low: 0.35, high: 0.7 })).toBe("35–70% of step time");
    expect(savingWords({ low: 0.2, high: 0.2 })).toBe("up to 20% of step time");
    expect(savingWords({ low: 0, high: 0 })).toBe("");
  });
});
