/** Findings that claim classes of time, and so can be marked where these are drawn. */
import { CLASSES, type Class, type Finding, type Report } from "./generated.js";

/** number: its place among the findings of the page, from 1. */
export interface Marked {
  number: number;
  id: string;
  title: string;
  summary: string;
  kinds: Class[];
}

export function markedFindings(report: Report): Marked[] {
  return report.findings
    .filter((one) => one.category !== "capture")
    .map((one, place) => ({ number: place + 1, id: one.rule_id, title: one.title, summary: one.summary, kinds: claimed(one) }))
    .filter((one) => one.kinds.length > 0);
}

/** The classes of time that a finding claims, in the order of classes. */
export function claimed(finding: Finding): Class[] {
  return CLASSES.filter((one) => finding.claims.includes(one));
}
