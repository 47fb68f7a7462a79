/** The counted steps, row by row. */
import { CLASSES, type Class } from "./classes.js";
import type { PageData } from "./generated.js";

const SCALE = 1e5;

export class StepTable {
  private readonly columns: PageData["report"]["steps"]["each"];
  private readonly medians = new WeakMap<number[], number>();
  private readonly longests = new WeakMap<number[], number>();

  constructor(private readonly run: PageData) {
    this.columns = run.report.steps.each;
  }

  get rows(): number {
    return this.columns.index.length;
  }

  get hosts(): string[] {
    return this.columns.host.texts.map((one) => one ?? "");
  }

  index(row: number): number {
    return this.columns.index[row] ?? -1;
  }

  host(row: number): string {
    return this.columns.host.texts[this.columns.host.code[row] ?? -1] ?? "";
  }

  /** `train 12`; the number is left out where the name has one. */
  name(row: number): string {
    const name = this.columns.name.texts[this.columns.name.code[row] ?? -1] ?? "";
    return /\d/.test(name) ? name : `${name} ${this.index(row)}`.trim();
  }

  start(row: number): number {
    return this.columns.start_ms[row] ?? 0;
  }

  duration(row: number): number {
    return this.columns.duration_ms[row] ?? 0;
  }

  share(row: number, kind: Class): number {
    return (this.run.step_shares[kind]?.[row] ?? 0) / SCALE;
  }

  shares(row: number): Record<string, number> {
    return Object.fromEntries(CLASSES.map((kind) => [kind, this.share(row, kind)]));
  }

  /** Rows of one host, in order. */
  of(host: string): number[] {
    const code = this.columns.host.texts.indexOf(host);
    return this.columns.host.code.flatMap((one, row) => (one === code ? [row] : []));
  }

  find(host: string, index: number): number {
    const code = this.columns.host.texts.indexOf(host);
    return this.columns.index.findIndex((one, row) => one === index && this.columns.host.code[row] === code);
  }

  /** The row whose period is the median of the given ones, of an even number the shorter of the two; of equals the one that is drawn. */
  median(rows: number[]): number {
    let found = this.medians.get(rows);
    if (found === undefined) {
      const sorted = [...rows].sort((a, b) => this.duration(a) - this.duration(b));
      found = this.drawnMedian(sorted[Math.floor((sorted.length - 1) / 2)] ?? -1);
      this.medians.set(rows, found);
    }
    return found;
  }

  /** The row that the timeline calls so where it takes as long as the found one: periods are sent with six digits. */
  private drawnMedian(found: number): number {
    const one = this.run.drawn.find((step) => step.which === "median" && step.host === this.host(found));
    const row = one === undefined ? -1 : this.find(one.host, one.index);
    return row >= 0 && this.duration(row) === this.duration(found) ? row : found;
  }

  longest(rows: number[]): number {
    let found = this.longests.get(rows);
    if (found === undefined) {
      found = rows.reduce((best, row) => (best < 0 || this.duration(row) > this.duration(best) ? row : best), -1);
      this.longests.set(rows, found);
    }
    return found;
  }
}

/** The host that the others wait for in a step: the one that waits least in collectives, "" where none waits. */
export function lateHost(steps: StepTable, index: number): string {
  const rows = steps.hosts.map((host) => steps.find(host, index)).filter((row) => row >= 0);
  const waits = (row: number): number => steps.share(row, "collective") * steps.duration(row);
  const most = Math.max(...rows.map(waits));
  const least = rows.reduce((best, row) => (best < 0 || waits(row) < waits(best) ? row : best), -1);
  return least >= 0 && most > 1.2 * waits(least) ? steps.host(least) : "";
}

/** Neighbours that share a bar where there are more steps than bars: each bar is the longest step of its group. */
export function longestOfEach(table: StepTable, rows: number[], bars: number): { rows: number[]; each: number } {
  const each = Math.max(Math.ceil(rows.length / Math.max(bars, 1)), 1);
  if (each === 1) return { rows, each };
  const found: number[] = [];
  for (let at = 0; at < rows.length; at += each) found.push(table.longest(rows.slice(at, at + each)));
  return { rows: found, each };
}
