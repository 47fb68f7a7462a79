import { describe, expect, it } from "vitest";
import type { PageData } from "../src/data/generated.js";
import { apart } from "../src/sections/steps.js";
import { StepTable, lateHost, longestOfEach } from "../src/data/steps.js";

function table(durations: number[], drawn: { which: string; host: string; index: number }[] = []): StepTable {
  const each = {
    index: durations.map((_, row) => row),
    host: { texts: ["a"], code: durations.map(() => 0) },
    name: { texts: ["train"], code: durations.map(() => 0) },
    start_ms: durations.map((_, row) => row * 10),
    duration_ms: durations,
  };
  return new StepTable({ report: { steps: { each } }, step_shares: { compute: durations.map(() => 100000) }, drawn } as unknown as PageData);
}

describe("steps", () => {
  it("median and longest", () => {
    const steps = table([5, 9, 1, 7]);
    const rows = steps.of("a");
    expect(steps.median(rows)).toBe(0);
    expect(steps.longest(rows)).toBe(1);
  });

  it("of equally long steps the median is the one that the timeline draws", () => {
    const drawn = (index: number): { which: string; host: string; index: number }[] => [{ which: "median", host: "a", index }];
    for (const index of [0, 2]) expect(table([5, 9, 5, 1, 7], drawn(index)).median([0, 1, 2, 3, 4])).toBe(index);
    expect(table([5, 9, 6, 1, 5.5], drawn(2)).median([0, 1, 2, 3, 4])).toBe(4); // another length: not the drawn one
  });

  it("the late host is the one that waits least, if the others wait notably longer", () => {
    const of = (waits: number[]): StepTable => new StepTable({ report: { steps: { each: { index: waits.map(() => 3), host: { texts: ["a", "b"], code: [0, 1] }, name: { texts: ["s"], code: [0, 0] }, start_ms: [0, 0], duration_ms: [10, 10] } } }, step_shares: { collective: waits }, drawn: [] } as unknown as PageData);
    expect(lateHost(of([80_000, 1_000]), 3)).toBe("b");
    expect(lateHost(of([50_000, 48_000]), 3)).toBe("");
  });

  it("with more steps than bars, each bar is the longest of its neighbours", () => {
    const steps = table([1, 9, 1, 1, 8, 1, 2]);
    expect(longestOfEach(steps, steps.of("a"), 3)).toEqual({ rows: [1, 4, 6], each: 3 });
    expect(longestOfEach(steps, steps.of("a"), 10).each).toBe(1);
  });

  it("a step's number is said once", () => {
    expect(table([1]).name(0)).toBe("train 0");
  });

  it("marks of neighbouring bars stand apart", () => {
    // Bars of 3 px: M needs 14 px, so W and ▲ of the next two bars move 11 and 22 px to the right.
    const marks = apart(new Map([[11, ["W"]], [10, ["M"]], [12, ["▲"]]]), 3);
    expect(marks.map((one) => [one.words, one.aside])).toEqual([["M", 0], ["W", 11], ["▲", 22]]);
    expect(apart(new Map([[0, ["M", "W"]], [1, ["▲"]]]), 40).map((one) => one.aside)).toEqual([0, 0]);
  });
});
