import { describe, expect, it } from "vitest";
import type { ListedRun } from "../src/tab/server.js";
import { toldWords } from "../src/tab/tab.js";

const run = (name: string, step_ms: number, kind = "jax, 1 cpu, 1, jit_step"): ListedRun => ({ name, told: { verdict: "input", step_ms, kind } } as ListedRun);

describe("what the list says of a run", () => {
  it("is the change since the run before of the same kind in the same folder", () => {
    expect(toldWords(run("a/2", 8), [run("b/1", 4), run("a/1", 100)])).toBe("Input-bound, 8 ms, ▼ −92%");
    expect(toldWords(run("a/2", 11), [run("a/1", 10)])).toBe("Input-bound, 11 ms, ▲ +10%");
    expect(toldWords(run("a/2", 8), [run("a/1", 100, "jax, 1 gpu, 1, jit_step")])).toBe("Input-bound, 8 ms");
  });

  it("is a factor where a percentage would have four digits", () => {
    expect(toldWords(run("a/2", 395), [run("a/1", 10)])).toBe("Input-bound, 395 ms, ▲ 40 times as long");
    expect(toldWords(run("a/2", 39), [run("a/1", 10)])).toBe("Input-bound, 39 ms, ▲ +290%");
  });
});
