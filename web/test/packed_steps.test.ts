// @vitest-environment node
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { unpack } from "../src/data/packed_steps.js";

/** Two rows, no block: the second begins 300 later, is launched by row 0 and has the first name, the first row none. */
const HEAD = JSON.stringify({ names: ["matmul"], steps: [{ host: "a", which: "median", index: 3, at_ns: null, span_ns: 900, lanes: [], threads_left_out: 0, rows: 2, blocks: 0 }] });
/** As signs alternate, -1 is 1, 1 is 2, 300 is 600: 88 of 7 bits with 128 for more, then 4. */
const COLUMNS = [[0, 2], [0, 0], [0, 216, 4], [1, 2], [200, 1, 20], [0, 2], [1, 0]];

async function unpacked(): Promise<Awaited<ReturnType<typeof unpack>>> {
  const head = new TextEncoder().encode(HEAD);
  return unpack(gzipSync(Uint8Array.from([head.length, head.length >> 8, 0, 0, ...head, ...COLUMNS.flat()])).toString("base64"));
}

describe("packed steps", () => {
  it("are read column by column", async () => {
    const [step] = await unpacked();
    expect(step).toMatchObject({ host: "a", index: 3, names: ["matmul"], lane: [0, 1], depth: [0, 0], start: [0, 300], launch: [-1, 0], length: [100, 10], kind: [0, 1], name: [-1, 0], block: [] });
  });

  it("may be none", async () => {
    expect(await unpack("")).toEqual([]);
  });
});
