import { describe, expect, it } from "vitest";
import type { Finding, Fix, Report } from "../src/data/generated.js";
import { firstChange, fixBlock, savedWords, toChange, toCheck, worthWords } from "../src/sections/findings.js";

function finding(rule_id: string, more: Partial<Finding>): Finding {
  return {
    rule_id, category: "host", severity: "low", title: rule_id, summary: "", evidence: [], saving: null,
    fixes: [], locations: [], source: [], caveat: "", claims: [], proof: "shown", certainty: "sure", takes: null, ...more,
  };
}

const SHOWN = finding("shown", { saving: { low: 0.1, high: 0.2, basis: "" } });
const ASKED = finding("asked", { proof: "likely", ask: "Is it needed?", takes: 0.12 });
const TRIAL = finding("trial", { tier: "preview" });
const CAPTURE = finding("capture", { category: "capture", proof: "likely", ask: "Why?" });

function report(...findings: Finding[]): Report {
  return { findings, steps: { source: "marker", time_ms: { median: 10 } } } as unknown as Report;
}

describe("questions", () => {
  it("stand apart from what to change, and what is about the trace in neither", () => {
    const all = report(SHOWN, TRIAL, ASKED, CAPTURE);
    expect(toChange(all).map((one) => one.rule_id)).toEqual(["shown", "trial"]);
    expect(toCheck(all).map((one) => one.rule_id)).toEqual(["asked"]);
  });

  it("are never what to change first, nor is a rule on trial", () => {
    expect(firstChange(report(TRIAL, ASKED), () => undefined)).toBeNull();
    expect(firstChange(report(SHOWN), () => undefined)?.textContent).toContain("shown");
  });

  it("promise no saving", () => {
    expect(savedWords(report(ASKED), ASKED)).toBe("");
    expect(savedWords(report(SHOWN), SHOWN)).toBe("10–20% of step time, 1 ms to 2 ms");
  });
});

describe("what a finding is worth", () => {
  it("is its saving, the share that a question is about, or that only a guide stands behind it", () => {
    const guided = finding("guided", { proof: "documented", takes: 0.23 });
    expect(worthWords(report(SHOWN), SHOWN)).toBe("saves 10–20% of step time, 1 ms to 2 ms");
    expect(worthWords(report(ASKED), ASKED)).toBe("takes 12% of the step");
    expect(worthWords(report(guided), guided)).toBe("documented, takes 23% of the step");
    expect(worthWords(report(TRIAL), TRIAL)).toBe("");
  });
});

describe("a fix", () => {
  it("shows each variable once, in its snippet where that sets it", () => {
    const fix = { kind: "env", do: "Fuse.", snippet: "TF_XLA_FLAGS=--auto=2 python train.py", env: { TF_XLA_FLAGS: "--auto=2", OTHER: "1" }, valid_for: "any", side_effect: "" } as unknown as Fix;
    const shown = fixBlock(fix, "Fix 1").textContent;
    expect(shown.split("TF_XLA_FLAGS").length - 1).toBe(1);
    expect(shown).toContain("OTHER=1");
  });
});
