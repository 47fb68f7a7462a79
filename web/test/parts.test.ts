import { describe, expect, it } from "vitest";
import { grouped, tree, wasted, type Part } from "../src/data/parts.js";
import { asCsv } from "../src/parts/csv.js";
import { middle } from "../src/parts/middle.js";

const part = (name: string, layer: string, ms: number, flops: number | null = null, bytes: number | null = null): Part => ({ name, layer, op_type: "dot", line: "train.py:1", module: "m", stack: ["main train.py:9", "loss train.py:1"], ms, count: 1, flops, bytes });
const NONE = { flops: null, bytes: null };

describe("what is computed", () => {
  it("is summed by layer, the largest first, what has none by itself", () => {
    expect(grouped([part("a", "net/x", 1), part("b", "", 2), part("c", "net/x", 4)], "layer", NONE).map((one) => [one.name, one.ms, one.parts.length])).toEqual([["net/x", 5, 2], ["", 2, 1]]);
  });

  it("wastes what lies beyond the slower of arithmetic and memory", () => {
    // 1e9 operations at 1e12/s are 1 ms, 4e6 bytes at 1e9/s are 4 ms: 10 ms waste 6.
    expect(wasted(part("a", "", 10, 1e9, 4e6), { flops: 1e12, bytes: 1e9 })).toBeCloseTo(6);
    expect(wasted(part("a", "", 10, 1e9, 4e6), NONE)).toBeNull();
  });

  it("is a tree of layers, or of lines of the program", () => {
    const layers = tree([part("a", "net/x", 1), part("b", "net/y", 3)], "layers", NONE);
    expect([layers.ms, layers.below[0]!.name, layers.below[0]!.below.map((one) => one.name)]).toEqual([4, "net", ["y", "x"]]);
    expect(tree([part("a", "net/x", 1)], "stacks", NONE).below[0]!.below[0]!.name).toBe("loss train.py:1");
  });
});

describe("CSV", () => {
  it("quotes what would break a line, and runs no formula", () => {
    expect(asCsv([["a", "b"], ['say "x", y', 1.5], ["=1+1", null]])).toBe("a,b\r\n\"say \"\"x\"\", y\",1.5\r\n'=1+1,\r\n");
  });
});

describe("a long name", () => {
  it("keeps both ends", () => {
    const cut = middle("void cudnn::engine<float, 512, true>(params_t)");
    expect([...cut.children].map((one) => one.textContent)).toEqual(["void cudnn::engine<float, 512, t", "rue>(params_t)"]);
    expect(cut.textContent).toBe("void cudnn::engine<float, 512, true>(params_t)");
  });
});
