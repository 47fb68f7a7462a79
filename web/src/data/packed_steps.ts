/** Drawn steps as tfadvisor/report/forms/packed_steps.py packs them. */
import type { DrawnStep } from "./generated.js";

type Columns = "lane" | "depth" | "start" | "launch" | "length" | "kind" | "name" | "block" | "block_events" | "block_busy";

interface Head {
  names: string[];
  steps: (Omit<DrawnStep, Columns | "names"> & { rows: number; blocks: number })[];
}

/** "" holds none. */
export async function unpack(packed: string): Promise<DrawnStep[]> {
  if (packed === "") return [];
  const content = Uint8Array.from(atob(packed), (one) => one.charCodeAt(0));
  const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"));
  return stepsOf(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** A length in four bytes, so much JSON, and the columns. */
function stepsOf(content: Uint8Array): DrawnStep[] {
  const end = 4 + new DataView(content.buffer, content.byteOffset).getUint32(0, true);
  const { names, steps } = JSON.parse(new TextDecoder().decode(content.subarray(4, end))) as Head;
  const numbers = new Numbers(content, end);
  return steps.map(({ rows, blocks, ...head }) => withOwnNames({
    ...head,
    names,
    lane: numbers.rising(rows),
    depth: numbers.rising(rows),
    start: numbers.rising(rows),
    launch: numbers.rising(rows),
    length: numbers.next(rows),
    kind: numbers.next(rows),
    name: numbers.next(rows),
    block: numbers.rising(blocks),
    block_events: numbers.next(blocks),
    block_busy: numbers.next(blocks),
  }));
}

/** With the names that it uses: thousands of steps may share tens of thousands. */
function withOwnNames(step: DrawnStep): DrawnStep {
  const places = new Map<number, number>();
  const name = step.name.map((one) => {
    if (one < 0) return -1;
    const known = places.get(one) ?? places.size;
    places.set(one, known);
    return known;
  });
  return { ...step, name, names: [...places.keys()].map((one) => step.names[one] ?? "") };
}

/** Seven bits a byte, the lowest first; signs alternate. */
class Numbers {
  constructor(private readonly content: Uint8Array, private at: number) {}

  next(count: number): number[] {
    const found = new Array<number>(count);
    for (let row = 0; row < count; row += 1) found[row] = this.one();
    return found;
  }

  /** Of columns whose values are written as their differences. */
  rising(count: number): number[] {
    const found = new Array<number>(count);
    let value = 0;
    for (let row = 0; row < count; row += 1) found[row] = value += this.one();
    return found;
  }

  private one(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.content[this.at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  }
}
