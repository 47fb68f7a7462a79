import { describe, expect, it } from "vitest";
import type { Finding, Report } from "../src/data/generated.js";
import { claimed, markedFindings } from "../src/data/marked_findings.js";

function finding(category: string, claims: string[]): Finding {
  return {
    rule_id: category, category, severity: "high", title: "", summary: "", evidence: [], saving: { low: 0, high: 0, basis: "" },
    fixes: [], locations: [], source: [], caveat: "", claims, proof: "shown", certainty: "sure", takes: null,
  };
}

describe("findings in the timeline", () => {
  it("are marked in the time that they claim, whatever their category", () => {
    expect(claimed(finding("memory", ["compute"]))).toEqual(["compute"]);
    expect(claimed(finding("host", ["idle", "launch"]))).toEqual(["launch", "idle"]);
  });

  it("keep their numbers where others claim no time", () => {
    const findings = [finding("host", ["host"]), finding("capture", []), finding("memory", []), finding("input", ["input"])];
    const marked = markedFindings({ findings } as unknown as Report);
    expect(marked.map((one) => [one.number, one.id])).toEqual([[1, "host"], [3, "input"]]);
  });
});
