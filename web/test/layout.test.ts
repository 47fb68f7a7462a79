import { describe, expect, it } from "vitest";
import type { DrawnStep, LaneInfo } from "../src/data/generated.js";
import { Layout, ROW } from "../src/timeline/layout.js";

const lane = (role: LaneInfo["role"], name: string): LaneInfo => ({ role, device: role === "stream" ? "GPU:0" : "", name, around: [], deeper: 0 });

/** A stream with two kernels and a block of three, and a thread with a call that mostly holds another. */
const STEP: DrawnStep = {
  host: "a",
  which: "median",
  index: 1,
  at_ns: null,
  span_ns: 1000,
  lanes: [lane("stream", "7"), lane("driver", "python")],
  lane: [0, 0, 0, 1, 1],
  depth: [0, 0, 0, 0, 1],
  start: [0, 200, 500, 0, 100],
  length: [100, 200, 300, 1000, 800],
  kind: [0, 1, 0, 6, 5],
  name: [0, 1, -1, 2, 3],
  names: ["matmul", "all-reduce", "train", "launch"],
  threads_left_out: 0,
  launch: [4, 4, -1, -1, -1],
  block: [2],
  block_events: [3],
  block_busy: [120],
};

describe("where events lie", () => {
  const layout = new Layout(STEP);

  it("one row a lane and depth", () => {
    expect(layout.rows.map(({ lane, depth, from, to }) => [lane, depth, from, to])).toEqual([[0, 0, 0, 3], [1, 0, 3, 4], [1, 1, 4, 5]]);
    expect(layout.rows[2]!.top - layout.rows[1]!.top).toBe(ROW);
  });

  it("an event is found by its time, a near miss too", () => {
    const row = layout.rows[0]!;
    expect(layout.eventAt(row, 250, 0)).toBe(1);
    expect(layout.eventAt(row, 150, 0)).toBeNull();
    expect(layout.eventAt(row, 195, 10)).toBe(1);
  });

  it("a block says how many events it stands for", () => {
    expect(layout.name(2)).toBe("3 more");
    expect(layout.block(2)).toEqual({ events: 3, busy: 120 });
  });

  it("a call that mostly holds another is told from one that works", () => {
    expect(layout.isHolder(3)).toBe(true);
    expect(layout.isHolder(4)).toBe(false);
  });

  it("leads from a call to what it launched, and back", () => {
    expect(layout.launches(0)).toEqual([[4, 0]]);
    expect(layout.launches(4)).toEqual([[4, 0], [4, 1]]);
  });

  it("leads from a call around a launch to what that launched", () => {
    expect(layout.launches(3)).toEqual([[4, 0], [4, 1]]);
    expect(layout.launches(2)).toEqual([]);
  });
});
