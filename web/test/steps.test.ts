import { describe, expect, it } from "vitest";
import type { PageData } from "../src/data/generated.js";
import { StepTable, longestOfEach } from "../src/data/steps.js";

function table(durations: number[]): StepTable {
  const each = {
    index: durations.map((_, row) => row),
    hosts: ["a"],
    host: durations.map(() => 0),
    names: ["train"],
    name: durations.map(() => 0),
    start_ms: durations.map((_, row) => row * 10),
    duration_ms: durations,
    share: { compute: durations.map(() => 100000) },
  };
  return new StepTable({ report: { steps: { each } }, drawn: [] } as unknown as PageData);
}

describe("steps", () => {
  it("median and longest", () => {
    const steps = table([5, 9, 1, 7]);
    const rows = steps.of("a");
    expect(steps.median(rows)).toBe(0);
    expect(steps.longest(rows)).toBe(1);
  });

  it("with more steps than bars, each bar is the longest of its neighbours", () => {
    const steps = table([1, 9, 1, 1, 8, 1, 2]);
    expect(longestOfEach(steps, steps.of("a"), 3)).toEqual({ rows: [1, 4, 6], each: 3 });
    expect(longestOfEach(steps, steps.of("a"), 10).each).toBe(1);
  });

  it("a step's number is said once", () => {
    expect(table([1]).name(0)).toBe("train 0");
  });
});
