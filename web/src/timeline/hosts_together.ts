/** One step of several hosts under each other, on one clock. */
import type { DrawnStep, LaneInfo } from "../data/generated.js";

/** A step with, for each lane, which host it belongs to. */
export interface Together {
  step: DrawnStep;
  hosts: number[];
}

const SHOWN = new Set<LaneInfo["role"]>(["classes", "stream", "driver"]);

/** steps: of different hosts, in the order in which they are drawn. late: the host that the others wait for, "" without one. */
export function together(steps: DrawnStep[], late: string): Together {
  const known = steps.every((one) => one.at_ns !== null);
  const first = known ? Math.min(...steps.map((one) => one.at_ns ?? 0)) : 0;
  const made: DrawnStep = { ...steps[0]!, host: "", lanes: [], lane: [], depth: [], start: [], length: [], kind: [], name: [], launch: [], names: [], block: [], block_events: [], block_busy: [], span_ns: 0, threads_left_out: 0 };
  const hosts: number[] = [];
  steps.forEach((step, place) => {
    const shift = known ? (step.at_ns ?? 0) - first : 0;
    const lanes = step.lanes.map((lane) => (SHOWN.has(lane.role) ? made.lanes.push(named(lane, step.host, step.host === late)) - 1 : -1));
    for (const lane of lanes) if (lane >= 0) hosts.push(place);
    const names = made.names.length;
    made.names.push(...step.names);
    const rows = new Map<number, number>();
    step.lane.forEach((lane, row) => {
      if ((lanes[lane] ?? -1) < 0) return;
      rows.set(row, made.lane.push(lanes[lane]!) - 1);
      made.depth.push(step.depth[row]!);
      made.start.push(step.start[row]! + shift);
      made.length.push(step.length[row]!);
      made.kind.push(step.kind[row]!);
      made.name.push(step.name[row]! < 0 ? -1 : step.name[row]! + names);
    });
    for (const row of rows.keys()) made.launch.push(rows.get(step.launch[row]!) ?? -1);
    step.block.forEach((row, at) => {
      const moved = rows.get(row);
      if (moved === undefined) return;
      made.block.push(moved);
      made.block_events.push(step.block_events[at]!);
      made.block_busy.push(step.block_busy[at]!);
    });
    made.span_ns = Math.max(made.span_ns, shift + step.span_ns);
    made.threads_left_out += step.lanes.length - lanes.filter((lane) => lane >= 0).length + step.threads_left_out;
  });
  return { step: made, hosts };
}

function named(lane: LaneInfo, host: string, late: boolean): LaneInfo {
  const where = late ? `${host} (the others wait for it)` : host;
  return lane.role === "driver" ? { ...lane, name: `${lane.name} of ${where}` } : { ...lane, device: `${where} ${lane.device}`.trim() };
}
