import { describe, expect, it } from "vitest";
import type { DrawnStep, LaneInfo } from "../src/data/generated.js";
import { Layout } from "../src/timeline/layout.js";
import { traceEvents } from "../src/timeline/perfetto.js";
import { beside, byClass, byName } from "../src/timeline/range.js";

const lane = (role: LaneInfo["role"], name: string, device = ""): LaneInfo => ({ role, device, name, around: [], deeper: 0 });

/** Compute 0 to 600 and collective to 1000; a matmul beside an all-reduce on another stream, and a block of three short kernels. */
const STEP: DrawnStep = {
  host: "a",
  which: "median",
  index: 4,
  at_ns: null,
  span_ns: 1000,
  lanes: [lane("classes", "", "GPU:0"), lane("stream", "7", "GPU:0"), lane("stream", "8", "GPU:0")],
  lane: [0, 0, 1, 1, 2],
  depth: [0, 0, 0, 0, 0],
  start: [0, 600, 100, 700, 300],
  length: [600, 400, 400, 300, 600],
  kind: [0, 1, 0, 0, 1],
  name: [-1, -1, 0, -1, 1],
  names: ["matmul", "all-reduce"],
  threads_left_out: 0,
  launch: [],
  block: [3],
  block_events: [3],
  block_busy: [150],
};
const layout = new Layout(STEP);

describe("a stretch of time", () => {
  it("adds up by class to its length", () => {
    // 500 to 900: 100 of compute and 300 of collective.
    expect(byClass(layout, 500, 900).map((one) => [one.kind, one.of, one.ns])).toEqual([["collective", "GPU:0", 300], ["compute", "GPU:0", 100]]);
  });

  it("holds the named parts of events, and of blocks the share that they fill", () => {
    // All-reduce ends at 900: 400 of it; two thirds of the block of 150 ns; the matmul ended at 500.
    expect(byName(layout, 500, 900).map((one) => [one.name, Math.round(one.ns), one.times])).toEqual([["all-reduce", 400, 1], ["short events, drawn as blocks", 100, 3]]);
  });

  it("tells what runs beside an event, on other lanes alone", () => {
    // The all-reduce from 300 to 900: 200 of the matmul; two thirds of the block.
    expect(beside(layout, 4).map((one) => [one.name, Math.round(one.ns)])).toEqual([["matmul", 200], ["short events, drawn as blocks", 100]]);
  });
});

describe("the step for Perfetto", () => {
  it("has a thread a lane and times in µs", () => {
    const { traceEvents: events } = JSON.parse(traceEvents(STEP)) as { traceEvents: { ph: string; name: string; tid?: number; ts?: number; dur?: number; args?: { name?: string } }[] };
    expect(events.filter((one) => one.name === "thread_name").map((one) => one.args?.name)).toEqual(["GPU:0: where its time goes", "GPU:0: stream 7", "GPU:0: stream 8"]);
    expect(events.find((one) => one.name === "all-reduce")).toMatchObject({ ph: "X", tid: 3, ts: 0.3, dur: 0.6 });
  });
});
