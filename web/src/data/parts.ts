/** What is computed, summed by any of its properties, and as trees. */
import type { PageData } from "./generated.js";
import { texts } from "./read.js";

export const KEYS = ["layer", "op_type", "line", "module", "name"] as const;
export type Key = (typeof KEYS)[number];

/** One op. "" for what the trace does not tell. Sums per counted step and device. */
export interface Part extends Record<Key, string> {
  stack: string[];
  ms: number;
  count: number;
  flops: number | null;
  bytes: number | null;
}

/** Per second; null where it is not known. */
export interface Peaks {
  flops: number | null;
  bytes: number | null;
}

export interface Group {
  name: string;
  parts: Part[];
  ms: number;
  count: number;
  /** What its ops take beyond what the device's peaks allow, of those for which that is known; null of none. */
  wasted: number | null;
}

export interface TreeNode {
  name: string;
  ms: number;
  wasted: number | null;
  below: TreeNode[];
}

export function readParts(run: PageData): Part[] {
  const columns = run.parts;
  const [name, module, layer, type, line, stack] = [columns.name, columns.module, columns.layer, columns.op_type, columns.line, columns.stack].map((one) => texts(one).map((text) => text ?? ""));
  return columns.ms_per_step.map((ms, row) => ({
    name: name![row]!, module: module![row]!, layer: layer![row]!, op_type: type![row]!, line: line![row]!,
    stack: stack![row] === "" ? [] : stack![row]!.split("\n"),
    ms, count: columns.count_per_step[row]!, flops: columns.flops[row] ?? null, bytes: columns.bytes[row] ?? null,
  }));
}

/** ms beyond the least time that arithmetic and memory traffic take at the device's peaks; null where that is not known. */
export function wasted(part: Part, peaks: Peaks): number | null {
  if (part.flops === null || part.bytes === null || peaks.flops === null || peaks.bytes === null) return null;
  return Math.max(part.ms - Math.max(part.flops / peaks.flops, part.bytes / peaks.bytes) * 1e3, 0);
}

/** The largest first; the one without a name is what the trace does not place. */
export function grouped(parts: Part[], key: Key, peaks: Peaks): Group[] {
  const found = new Map<string, Part[]>();
  for (const part of parts) {
    const known = found.get(part[key]);
    if (known === undefined) found.set(part[key], [part]);
    else known.push(part);
  }
  return [...found].map(([name, inside]) => ({ name, parts: inside, ms: sum(inside.map((one) => one.ms)), count: sum(inside.map((one) => one.count)), wasted: sumKnown(inside.map((one) => wasted(one, peaks))) })).sort((a, b) => b.ms - a.ms);
}

const PATHS: Record<string, (part: Part) => string[]> = {
  layers: (part) => [...(part.layer === "" ? ["no layer"] : part.layer.split("/")), part.op_type || "other", part.name],
  stacks: (part) => [...(part.stack.length > 0 ? part.stack : [part.line || "no line"]), part.name],
  programs: (part) => [part.module || "no program", part.op_type || "other", part.name],
};
export const TREES = Object.keys(PATHS);

/** The largest first at each level. */
export function tree(parts: Part[], way: string, peaks: Peaks): TreeNode {
  return level("all compute", parts.map((part) => ({ part, path: (PATHS[way] ?? PATHS["layers"]!)(part) })), 0, peaks);
}

function level(name: string, rows: { part: Part; path: string[] }[], depth: number, peaks: Peaks): TreeNode {
  const next = new Map<string, { part: Part; path: string[] }[]>();
  for (const row of rows) {
    const step = row.path[depth];
    if (step === undefined || step === "") continue;
    const known = next.get(step);
    if (known === undefined) next.set(step, [row]);
    else known.push(row);
  }
  const below = [...next].map(([step, inside]) => level(step, inside, depth + 1, peaks)).sort((a, b) => b.ms - a.ms);
  return { name, ms: sum(rows.map((row) => row.part.ms)), wasted: sumKnown(rows.map((row) => wasted(row.part, peaks))), below };
}

function sum(values: number[]): number {
  return values.reduce((all, one) => all + one, 0);
}

function sumKnown(values: (number | null)[]): number | null {
  const known = values.filter((one) => one !== null);
  return known.length === 0 ? null : sum(known);
}
