import { describe, expect, it } from "vitest";
import { KINDS } from "../src/data/classes.js";
import type { DrawnStep, LaneInfo } from "../src/data/generated.js";
import { criticalPath, summed, withPath } from "../src/timeline/critical_path.js";
import { together } from "../src/timeline/hosts_together.js";

const lane = (role: LaneInfo["role"], device: string, name = ""): LaneInfo => ({ role, device, name, around: [], deeper: 0 });
type Event = [lane: number, depth: number, start: number, length: number, kind: string, name: string];

function step(host: string, lanes: LaneInfo[], events: Event[], at: number | null = 0): DrawnStep {
  const names = [...new Set(events.map((one) => one[5]))];
  return {
    host, which: "median", index: 0, at_ns: at, span_ns: Math.max(...events.map((one) => one[2] + one[3])), lanes, names, threads_left_out: 0, launch: events.map(() => -1), block: [], block_events: [], block_busy: [],
    lane: events.map((one) => one[0]), depth: events.map((one) => one[1]), start: events.map((one) => one[2]), length: events.map((one) => one[3]),
    kind: events.map((one) => KINDS.indexOf(one[4] as never)), name: events.map((one) => names.indexOf(one[5])),
  };
}

/** The host loads for 40, the device computes 30 and exchanges 30. */
const host = (name: string, load: number, exchange: number, at = 0): DrawnStep => step(name, [lane("classes", "GPU:0"), lane("stream", "GPU:0", "1"), lane("driver", "", "python")], [
  [0, 0, 0, load, "input", ""], [0, 0, load, 30, "compute", ""], [0, 0, load + 30, exchange, "collective", ""],
  [1, 0, load, 30, "compute", "matmul"], [1, 0, load + 30, exchange, "collective", "all-reduce"],
  [2, 0, 0, load + 5, "host", "train"], [2, 1, 0, load, "input", "load_batch"],
], at);

const told = (found: DrawnStep, hosts: number[] | null): [string, string, number, number][] => criticalPath(found, hosts).map((one) => [one.kind, one.name, one.start, one.end]);

describe("the critical path of a step", () => {
  it("is the device's work, and the thread's while it waits", () => {
    expect(told(host("a", 40, 30), null)).toEqual([["input", "load_batch", 0, 40], ["compute", "matmul", 40, 70], ["collective", "all-reduce", 70, 100]]);
  });

  it("goes through the host that arrives last at a collective", () => {
    const both = together([host("late", 70, 10), host("early", 20, 60)], "late");
    expect(both.step.lanes.map((one) => one.device)[0]).toBe("late (the others wait for it) GPU:0");
    expect(told(both.step, both.hosts)).toEqual([["input", "load_batch", 0, 70], ["compute", "matmul", 70, 100], ["collective", "all-reduce", 100, 110]]);
  });

  it("puts hosts on one clock where it is known", () => {
    const both = together([host("a", 10, 10, 500), host("b", 10, 10, 400)], "");
    expect([both.step.start[0], both.step.start[7], both.step.span_ns]).toEqual([100, 0, 150]);
  });

  it("is drawn as a lane of its own, and sums up", () => {
    const path = criticalPath(host("a", 40, 30), null);
    const drawn = withPath(host("a", 40, 30), path);
    expect(drawn.lanes[0]!.name).toBe("Critical path");
    expect(drawn.length.slice(0, 3)).toEqual([40, 30, 30]);
    expect(summed(path).map((one) => [one.name, one.ns])).toEqual([["load_batch", 40], ["matmul", 30], ["all-reduce", 30]]);
  });
});
