/** Findings that are about a class of time, and so can be marked where that class is drawn. */
import { classOf, type Kind } from "./classes.js";
import type { Report } from "./model.js";

/** number: its place among the findings of the page, from 1. */
export interface Marked {
  number: number;
  id: string;
  title: string;
  summary: string;
  kind: Kind;
}

export function markedFindings(report: Report): Marked[] {
  return report.findings
    .filter((one) => one.category !== "capture")
    .flatMap((one, place) => {
      const kind = classOf(one.category);
      return kind === null ? [] : [{ number: place + 1, id: one.rule_id, title: one.title, summary: one.summary, kind }];
    });
}
