/** Where the lanes and events of a drawn step lie, without drawing them. */
import { KINDS, type Kind } from "../data/classes.js";
import type { DrawnStep, LaneInfo } from "../data/generated.js";

export const HEAD = 20;
export const ROW = 18;
const GAP = 6;
const LONGEST = 90;

/** A row of a lane: events `from` up to but not `to`, by start; top in px from the first lane. */
export interface Row {
  lane: number;
  depth: number;
  top: number;
  from: number;
  to: number;
}

export interface LaneBox {
  lane: LaneInfo;
  top: number;
  height: number;
}

export class Layout {
  readonly rows: Row[] = [];
  readonly lanes: LaneBox[] = [];
  readonly height: number;
  /** Events of host threads that mostly hold others: what runs inside says what they do. */
  private readonly holders = new Set<number>();
  private readonly blocks = new Map<number, { events: number; busy: number }>();

  /** short: of names that are too long for a picture. */
  constructor(readonly step: DrawnStep, private readonly short: Record<string, string> = {}) {
    const count = step.start.length;
    let at = 0;
    let top = 0;
    step.lanes.forEach((lane, number) => {
      const laneTop = top;
      top += HEAD;
      while (at < count && step.lane[at] === number) {
        const depth = step.depth[at]!;
        const from = at;
        while (at < count && step.lane[at] === number && step.depth[at] === depth) at += 1;
        this.rows.push({ lane: number, depth, top, from, to: at });
        top += ROW;
      }
      this.lanes.push({ lane, top: laneTop, height: top - laneTop });
      top += GAP;
    });
    this.height = top;
    this.rows.forEach((row, place) => { this.findHolders(row, this.rows[place + 1]); });
    step.block.forEach((row, place) => this.blocks.set(row, { events: step.block_events[place]!, busy: step.block_busy[place]! }));
  }

  isHolder(event: number): boolean {
    return this.holders.has(event);
  }

  private findHolders(row: Row, below: Row | undefined): void {
    const lane = this.step.lanes[row.lane]!;
    if (below === undefined || below.lane !== row.lane || (lane.role !== "driver" && lane.role !== "thread")) return;
    let event = row.from;
    let held = 0;
    for (let inside = below.from; inside < below.to; inside += 1) {
      const start = this.step.start[inside]!;
      while (event < row.to && this.step.start[event]! + this.step.length[event]! <= start) {
        event += 1;
        held = 0;
      }
      if (event >= row.to || this.step.start[event]! > start) continue;
      held += this.step.length[inside]!;
      if (held > this.step.length[event]! / 2) this.holders.add(event);
    }
  }

  kind(event: number): Kind {
    return KINDS[this.step.kind[event] ?? -1] ?? "idle";
  }

  /** How many events a row of the data stands for, and for how long they run, ns. */
  block(event: number): { events: number; busy: number } | null {
    return this.blocks.get(event) ?? null;
  }

  name(event: number): string {
    const name = this.step.names[this.step.name[event] ?? -1];
    if (name !== undefined) return this.short[name] ?? name;
    const block = this.block(event);
    return this.step.lanes[this.step.lane[event]!]!.role === "classes" ? this.kind(event) : `${(block?.events ?? 1).toLocaleString("en-US")} more`;
  }

  /** From the calls of the host to what they launched on a device: the one that launched this event, or all that it or a call inside of it launched. */
  launches(event: number): [call: number, launched: number][] {
    const { lane, launch, start, length } = this.step;
    const call = launch[event] ?? -1;
    if (call >= 0) return [[call, event]];
    const end = start[event]! + length[event]!;
    const isInside = (one: number): boolean => one >= 0 && lane[one] === lane[event] && start[one]! >= start[event]! && start[one]! + length[one]! <= end;
    return launch.flatMap<[number, number]>((one, launched) => (isInside(one) ? [[one, launched]] : [])).sort((a, b) => start[a[1]]! - start[b[1]]!);
  }

  /** The first event of a row that ends after a time. */
  firstAfter(row: Row, time: number): number {
    let [low, high] = [row.from, row.to];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.step.start[middle]! + this.step.length[middle]! > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  rowAt(y: number): Row | null {
    return this.rows.find((row) => y >= row.top && y < row.top + ROW) ?? null;
  }

  rowOf(event: number): number {
    return this.rows.findIndex((row) => event >= row.from && event < row.to);
  }

  /** The event at a time, or one that is at most `slack` away. */
  eventAt(row: Row, time: number, slack: number): number | null {
    const event = this.firstAfter(row, time - slack);
    return event < row.to && this.step.start[event]! <= time + slack ? event : null;
  }
}

/** `GPU:0 · stream 13`. */
export function laneTitle(lane: LaneInfo): string {
  const inside = lane.around.join(" › ");
  return inside === "" ? nameOf(lane) : `${nameOf(lane)}, inside ${inside.length > LONGEST ? `…${inside.slice(-LONGEST)}` : inside}`;
}

function nameOf(lane: LaneInfo): string {
  if (lane.role === "classes" && lane.name !== "") return lane.device === "" ? lane.name : `${lane.device}: ${lane.name}`;
  if (lane.role === "classes") return lane.device === "" ? "Where the time goes" : `${lane.device}: where its time goes`;
  if (lane.role === "driver") return `Host thread ${lane.name}, drives the steps`;
  if (lane.role === "thread") return `Host thread ${lane.name}`;
  return `${lane.device}: ${/^\d+$/.test(lane.name) ? `stream ${lane.name}` : lane.name}`;
}
