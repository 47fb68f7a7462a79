/** The rows of the table of ops by the names that the timeline draws. */
import type { PageData } from "./generated.js";
import { texts } from "./read.js";

/** `copy-done.4` of an instruction's whole text, `%copy-done.4 = f32[5] …`; any other name as it is. */
export function shownName(name: string): string {
  return /^%(\S+) = /.exec(name)?.[1] ?? name;
}

export class OpRows {
  private readonly found = new Map<string, number[]>();

  constructor(run: PageData) {
    const [op, kernel] = [texts(run.ops.op), texts(run.ops.kernel)];
    run.ops.share.forEach((_, row) => {
      const names = new Set([op[row], kernel[row]].flatMap((name) => (name === null || name === undefined ? [] : [shownName(name)])));
      for (const name of names) this.found.set(name, [...(this.found.get(name) ?? []), row]);
    });
  }

  /** Those that an event of this name is, the one that takes most first: an op's kernels, or a kernel. */
  of(name: string): number[] {
    return this.found.get(shownName(name)) ?? [];
  }
}
