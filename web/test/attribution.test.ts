// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { attribution, causeWords, placeWords } from "../src/sections/attribution.js";
import type { View } from "../src/parts/section.js";

const NOWHERE = { file: "", line: null, function: "", stage: "", layer: "", op: "", kernel: "" };

describe("where the step goes", () => {
  it("says of a place what the name does not say", () => {
    expect(placeWords({ ...NOWHERE, file: "train.py", line: 42, layer: "model/dense" }, "MatMul")).toBe("train.py:42, model/dense");
    expect(placeWords({ ...NOWHERE, file: "train.py", line: 42 }, "save (train.py:42)")).toBe("");
    expect(placeWords(undefined, "MatMul")).toBe("");
  });

  it("says what lies inside of a time, and in which steps where these are few", () => {
    const cause = { does: [{ what: "flattening a tree of arguments", by: "_variable_flatten (variablelib.py:2012)", fraction: 0.5, count: 1600, slug: "flattening" }], tie: null, often: "every", count: 20, of_steps: 20, worst_ms: 69, line: null, source: "", witness: null };
    expect(causeWords(cause)).toBe("flattening a tree of arguments 50% (1,600 × _variable_flatten a step)");
    expect(causeWords({ ...cause, does: [], often: "once", count: 1 })).toBe("in 1 of 20 steps, at least 69 ms in one");
  });

  it("draws a tree whose large classes are open, and nothing in a name is markup", () => {
    const parts = [{ activity: "<b>save</b>", fraction: 0.95, ms: 9.5, places: [], parts: [] }];
    const report = { attribution: [{ class: "host", fraction: 0.95, ms: 9.5, parts }, { class: "idle", fraction: 0.05, ms: 0.5, parts: [] }], attribution_absent: null, speed_of_light: null };
    const { element } = attribution({ run: { report, short_names: {} } } as unknown as View);

    expect(element.querySelector<HTMLDetailsElement>("#where-host")?.open).toBe(true);
    expect(element.querySelector<HTMLDetailsElement>("#where-idle")?.open).toBe(false);
    expect(element.querySelector(".tree-leaf")?.textContent).toBe("<b>save</b>95%9.50 ms");
  });

  it("shortens the name of a kernel as the text does, with the whole one to read", () => {
    const activity = "void Eigen::internal::EigenMetaKernel<many templates>(long)";
    const report = { attribution: [{ class: "compute", fraction: 1, ms: 1, parts: [{ activity, fraction: 1, ms: 1, places: [], parts: [] }] }], attribution_absent: null, speed_of_light: null };
    const { element } = attribution({ run: { report, short_names: { [activity]: "EigenMetaKernel<…>" } } } as unknown as View);

    expect(element.querySelector(".tree-name[title]")?.textContent).toBe("EigenMetaKernel<…>");
    expect(element.querySelector<HTMLElement>(".tree-name[title]")?.title).toBe(activity);
  });

  it("says why there is none", () => {
    const report = { attribution: [], attribution_absent: "the trace holds no step" };

    expect(attribution({ run: { report, short_names: {} } } as unknown as View).element.textContent).toContain("Not known: the trace holds no step.");
  });
});
