/** What a step could not have been shorter without: from its end back, always to what held up the next thing.
 *
 * While the device works, its op; while it waits, what the thread that drives the steps does; while it waits in a collective, the
 * device that arrives last, and on from there.
 */
import { KINDS, type Kind } from "../data/classes.js";
import type { DrawnStep } from "../data/generated.js";

/** From start to end, ns from the step's start. lane: of the device whose time it is. events: how many, above 1 of a block. */
export interface Link {
  start: number;
  end: number;
  kind: Kind;
  name: string;
  lane: number;
  events: number;
}

const MOST = 20_000;
const WORK = new Set<Kind>(["compute", "collective", "transfer"]);

interface Row {
  start: number;
  end: number;
  event: number;
}

/** By time, without gaps, from 0 to the step's end. hosts: of each lane the host, where there are several. */
export function criticalPath(step: DrawnStep, hosts: number[] | null): Link[] {
  const rows = step.lanes.map<Row[]>(() => []);
  step.lane.forEach((lane, event) => rows[lane]?.push({ start: step.start[event]!, end: step.start[event]! + step.length[event]!, event }));
  const hostOf = (lane: number): number => hosts?.[lane] ?? 0;
  const devices = step.lanes.flatMap((lane, place) => (lane.role === "classes" && (rows[place]?.length ?? 0) > 0 ? [place] : []));
  const beside = (device: number, role: string): ByStart =>
    byStart(step.lanes.flatMap((lane, place) => (lane.role === role && hostOf(place) === hostOf(device) && (role === "driver" || lane.device === step.lanes[device]!.device) ? rows[place]! : [])));
  const streams = new Map(devices.map((device) => [device, beside(device, "stream")]));
  const drivers = new Map(devices.map((device) => [device, beside(device, "driver")]));
  const nameOf = (row: Row | null): string => (row === null ? "" : (step.names[step.name[row.event] ?? -1] ?? ""));
  const blocks = new Map(step.block.map((row, at) => [row, step.block_events[at]!]));

  const found: Link[] = [];
  const classes = new Map(devices.map((device) => [device, byStart(rows[device]!)]));
  let device = last(devices, rows);
  let time = device < 0 ? 0 : Math.max(...rows[device]!.map((row) => row.end));
  while (time > 0 && device >= 0 && found.length < MOST) {
    const segment = covering(classes.get(device)!, time, () => true) ?? undefined;
    if (segment === undefined) { // nothing is known up to the segment before
      const before = Math.max(0, ...rows[device]!.filter((row) => row.end < time).map((row) => row.end));
      found.push({ start: before, end: time, kind: "idle", name: "", lane: device, events: 0 });
      time = before;
      continue;
    }
    const kind = KINDS[step.kind[segment.event] ?? -1] ?? "idle";
    const row = WORK.has(kind) ? covering(streams.get(device)!, time, (one) => step.kind[one.event] === step.kind[segment.event]) : innermost(drivers.get(device)!, segment.start, time, step.depth);
    let start = Math.max(segment.start, WORK.has(kind) && row !== null ? row.start : segment.start);
    let next = device;
    if (kind === "collective" && row !== null) {
      const name = nameOf(row);
      for (const other of devices) {
        const call = name === "" || other === device ? undefined : streams.get(other)!.rows.find((one) => nameOf(one) === name && one.start < time && one.end > start);
        if (call !== undefined && call.start > start) [start, next] = [call.start, other];
      }
    }
    found.push({ start, end: time, kind, name: nameOf(row), lane: next, events: row === null ? 0 : (blocks.get(row.event) ?? 1) });
    time = start;
    device = next;
  }
  return found.reverse();
}

/** The device whose time ends last. */
function last(devices: number[], rows: Row[][]): number {
  const end = (device: number): number => rows[device]!.reduce((most, row) => Math.max(most, row.end), 0);
  return devices.reduce((best, one) => (best < 0 || end(one) > end(best) ? one : best), -1);
}

/** Events by start; latest: up to each the latest end, which tells how far back to look. */
interface ByStart {
  rows: Row[];
  latest: number[];
}

function byStart(rows: Row[]): ByStart {
  const sorted = [...rows].sort((a, b) => a.start - b.start);
  let latest = 0;
  return { rows: sorted, latest: sorted.map((row) => (latest = Math.max(latest, row.end))) };
}

/** Those that begin before `to` and end at `from` or later, the last to begin first. */
function* overlapping({ rows, latest }: ByStart, from: number, to: number): Generator<Row> {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]!.start < to) low = middle + 1;
    else high = middle;
  }
  for (let at = low - 1; at >= 0 && latest[at]! >= from; at -= 1) if (rows[at]!.end >= from) yield rows[at]!;
}

/** Of the events that run just before a time, the one that began first. */
function covering(events: ByStart, time: number, fits: (row: Row) => boolean): Row | null {
  let found: Row | null = null;
  for (const row of overlapping(events, time, time)) if (fits(row)) found = row;
  return found;
}

/** Of the calls that cover most of a stretch the innermost. */
function innermost(calls: ByStart, from: number, to: number, depth: number[]): Row | null {
  let found: Row | null = null;
  let most = 0;
  for (const row of [...overlapping(calls, from, to)].reverse()) {
    const overlap = Math.min(row.end, to) - Math.max(row.start, from);
    if (overlap <= 0) continue;
    const deeper = found !== null && depth[row.event]! > depth[found.event]! && overlap >= 0.5 * (to - from);
    if (found === null || deeper || (overlap > most && depth[row.event]! >= depth[found.event]!)) {
      found = row;
      most = overlap;
    }
  }
  return found;
}

/** Links of one kind and name together, the longest first. */
export function summed(path: Link[]): { kind: Kind; name: string; ns: number; times: number }[] {
  const found = new Map<string, { kind: Kind; name: string; ns: number; times: number }>();
  for (const link of path) {
    const key = `${link.kind}\n${link.name}`;
    const one = found.get(key) ?? { kind: link.kind, name: link.name, ns: 0, times: 0 };
    one.ns += link.end - link.start;
    one.times += Math.max(link.events, 1);
    found.set(key, one);
  }
  return [...found.values()].sort((a, b) => b.ns - a.ns);
}

/** The same step with the path as its first lane. */
export function withPath(step: DrawnStep, path: Link[]): DrawnStep {
  const names = [...step.names];
  const place = new Map(names.map((name, index) => [name, index]));
  const nameOf = (name: string): number => {
    if (name === "") return -1;
    if (!place.has(name)) place.set(name, names.push(name) - 1);
    return place.get(name)!;
  };
  const count = path.length;
  return {
    ...step,
    names,
    lanes: [{ role: "classes", device: "", name: "Critical path", around: [], deeper: 0 }, ...step.lanes],
    lane: [...path.map(() => 0), ...step.lane.map((lane) => lane + 1)],
    depth: [...path.map(() => 0), ...step.depth],
    start: [...path.map((link) => link.start), ...step.start],
    length: [...path.map((link) => link.end - link.start), ...step.length],
    kind: [...path.map((link) => KINDS.indexOf(link.kind)), ...step.kind],
    name: [...path.map((link) => nameOf(link.name)), ...step.name],
    launch: [...path.map(() => -1), ...step.launch.map((row) => (row < 0 ? -1 : row + count))],
    block: step.block.map((row) => row + count),
  };
}
