/** What happens in a stretch of a drawn step: sums by class and by name, and what runs beside an event. */
import type { Kind } from "../data/classes.js";
import { laneTitle, type Layout } from "./layout.js";

/** ns within the stretch. of: the lane, or the device for a class. times: events, those of blocks too. */
export interface Sum {
  kind: Kind;
  name: string;
  of: string;
  ns: number;
  times: number;
  /** One of the events. */
  event: number;
}

/** By class and device, the largest first: the lanes that tell where the time goes. */
export function byClass(layout: Layout, from: number, to: number): Sum[] {
  return summed(layout, from, to, (event, lane) => (lane.role === "classes" && lane.name === "" ? { name: layout.kind(event), of: lane.device } : null));
}

/** By name and lane, the largest first. Calls of a host thread that mostly hold others are left out: what is inside tells more. */
export function byName(layout: Layout, from: number, to: number): Sum[] {
  return summed(layout, from, to, (event, lane) => (lane.role === "classes" || layout.isHolder(event) ? null : { name: layout.name(event), of: laneTitle({ ...lane, around: [] }) }));
}

/** What overlaps an event on other lanes, the longest overlap first. */
export function beside(layout: Layout, event: number): Sum[] {
  const { step } = layout;
  const mine = step.lane[event]!;
  const start = step.start[event]!;
  return summed(layout, start, start + step.length[event]!, (other, lane, place) => (place === mine || lane.role === "classes" || layout.isHolder(other) ? null : { name: layout.name(other), of: laneTitle({ ...lane, around: [] }) }));
}

type Place = { name: string; of: string } | null;

function summed(layout: Layout, from: number, to: number, placeOf: (event: number, lane: Layout["step"]["lanes"][number], place: number) => Place): Sum[] {
  const { step } = layout;
  const found = new Map<string, Sum>();
  for (const row of layout.rows) {
    const lane = step.lanes[row.lane]!;
    for (let event = layout.firstAfter(row, from); event < row.to && step.start[event]! < to; event += 1) {
      const place = placeOf(event, lane, row.lane);
      if (place === null) continue;
      const length = Math.max(step.length[event]!, 1);
      const share = (Math.min(step.start[event]! + step.length[event]!, to) - Math.max(step.start[event]!, from)) / length;
      const block = layout.block(event);
      const name = block === null ? place.name : "short events, drawn as blocks";
      const key = `${layout.kind(event)}\n${place.of}\n${name}`;
      const one = found.get(key) ?? { kind: layout.kind(event), name, of: place.of, ns: 0, times: 0, event };
      one.ns += share * (block?.busy ?? step.length[event]!);
      one.times += block?.events ?? 1;
      found.set(key, one);
    }
  }
  return [...found.values()].sort((a, b) => b.ns - a.ns);
}
