/** The rows of the table of ops by the names that the timeline draws. */
import { percent, size } from "../words.js";
import type { PageData } from "./generated.js";
import { texts } from "./read.js";

export class OpRows {
  private rows: Map<string, number[]> | null = null;
  private readonly op: (string | null)[];

  constructor(private readonly run: PageData) {
    this.op = texts(run.ops.op);
  }

  /** Made when an event is first asked about: with thousands of kernels it takes half as long as the page needs to open. */
  private byName(): Map<string, number[]> {
    if (this.rows !== null) return this.rows;
    const found = (this.rows = new Map<string, number[]>());
    const kernel = texts(this.run.ops.kernel);
    for (let row = 0; row < this.op.length; row++) {
      const names = new Set<string>();
      for (const name of [this.op[row] ?? "", kernel[row] ?? ""]) names.add(name).add(this.run.short_names[name] ?? name);
      for (const name of names) {
        const known = found.get(name);
        if (known === undefined) found.set(name, [row]);
        else known.push(row);
      }
    }
    return found;
  }

  /** Those that an event of this name is, the one that takes most first: an op's kernels, or a kernel. */
  of(name: string): number[] {
    return this.byName().get(name) ?? [];
  }

  /** The ops whose kernel an event of this name is, in one text to search in: a kernel of cuDNN is found by `Conv2D` too. */
  called(name: string): string {
    return this.of(name).map((row) => this.op[row] ?? "").join(" ");
  }
}

/** `4×16` of a grid or block of 4 × 16 × 1; "" of none. */
export function extent(dimensions: number[] | null | undefined): string {
  return (dimensions ?? []).join("×").replace(/(×1)+$/, "");
}

/** How the kernel of a row of the table was launched; [] where the trace does not say. */
export function launchFacts(ops: PageData["ops"], row: number): [string, string][] {
  const [grid, block, registers, shared, occupancy, ways] = [ops.grid[row], ops.block[row], ops.registers[row], ops.shared_bytes[row], ops.occupancy[row], ops.launch_ways[row]];
  const cores = ops.tensor_cores[row];
  const facts: [string, string | null][] = [
    ["Tensor Cores", typeof cores === "boolean" ? (cores ? "used" : "not used") : null],
    ["grid", grid ? `${extent(grid)} blocks` : null],
    ["block", block ? `${extent(block)} threads` : null],
    ["registers", typeof registers === "number" ? `${registers} a thread` : null],
    ["shared memory", typeof shared === "number" ? `${size(shared)} a block` : null],
    ["occupancy", typeof occupancy === "number" ? `${percent(occupancy)} of a multiprocessor's warps` : null],
    ["launches", typeof ways === "number" && ways > 1 ? `${ways} different ones; this one takes most time` : null],
  ];
  return facts.filter((one): one is [string, string] => one[1] !== null);
}
