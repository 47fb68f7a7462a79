/** What is wrong with the trace, every metric, and what could not be judged. */
import { h } from "../dom.js";
import { empty, section, type Section, type View } from "../parts/section.js";
import { virtualTable } from "../parts/virtual_table.js";
import { count, inWords } from "../words.js";
import { snippet } from "./findings.js";

export function capture({ run: { report } }: View): Section {
  return section(
    "capture",
    "About this trace",
    report.capture.length === 0 ? "" : String(report.capture.length),
    report.capture.length === 0 ? empty("The capture is sound.") : null,
    h("ul", { class: "notes" }, ...report.capture.map((one) => h("li", null, h("p", null, one.note), h("p", { class: "dim" }, one.do), one.snippet.trim() === "" ? null : snippet(one.snippet, "Next capture")))),
    report.broken.length === 0 ? null : h("div", { class: "caveat" }, h("strong", null, "Broken: "), h("ul", { class: "plain" }, ...report.broken.map((one) => h("li", null, h("code", null, one.name), `: ${one.error}`)))),
  );
}

export function metrics(view: View): Section {
  const all = Object.entries(view.run.report.metrics);
  const found = h("span", { class: "dim small", "aria-live": "polite" });
  const words = (row: number): string => {
    const metric = all[row]![1];
    return metric.value === null ? "–" : inWords(metric.value, metric.unit);
  };
  const about = (row: number): string => {
    const metric = all[row]![1];
    return metric.value === null ? `Not known: ${metric.reason ?? ""}` : metric.about;
  };
  const table = virtualTable({
    label: "Metrics",
    rows: all.length,
    sortBy: "known",
    ascending: true,
    height: 416,
    signal: view.signal,
    columns: [
      { id: "known", title: "Metric", width: "minmax(136px, 1fr)", value: (row) => `${all[row]![1].value === null ? 1 : 0}${all[row]![0]}`, cell: (row) => h("code", { title: all[row]![0] }, all[row]![0]) },
      { id: "value", title: "Value", width: "96px", number: true, value: (row) => all[row]![1].value, cell: words },
      { id: "about", title: "Meaning, or why it is unknown", width: "minmax(160px, 2.5fr)", from: 560, value: about, cell: (row) => h("span", { class: "dim", title: about(row) }, about(row)) },
    ],
  });
  const search = h("input", { type: "search", placeholder: "Find a metric", "aria-label": "Find a metric" });
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase().replaceAll(" ", "_");
    const kept = table.filter(wanted === "" ? null : (row) => all[row]![0].includes(wanted));
    found.textContent = `${count(kept)} of ${count(all.length)}`;
  });
  return section("metrics", "Metrics", count(all.length), h("div", { class: "toolbar" }, search, found), table.element);
}

export function notApplicable({ run: { report } }: View): Section {
  const reasons = new Map<string, string[]>();
  for (const one of report.not_applicable) reasons.set(one.reason, [...(reasons.get(one.reason) ?? []), one.rule_id]);
  return section(
    "not-applicable",
    "Not applicable",
    report.not_applicable.length === 0 ? "" : String(report.not_applicable.length),
    h("p", { class: "dim" }, report.not_applicable.length === 0 ? "Every rule applies to this trace." : "This trace cannot decide these rules. That does not mean that they found nothing."),
    h("dl", { class: "reasons" }, ...[...reasons].map(([reason, rules]) => h("div", null, h("dt", null, reason), h("dd", null, ...rules.map((rule) => h("code", null, rule)))))),
  );
}
