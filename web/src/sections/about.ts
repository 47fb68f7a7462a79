/** What is wrong with the trace, every metric, and what could not be judged. */
import { h, withCode } from "../dom.js";
import { empty, section, type Section, type View } from "../parts/section.js";
import { csvButton } from "../parts/csv.js";
import type { MetricValue, Report } from "../data/generated.js";
import { count, inWords } from "../words.js";
import { snippet } from "./findings.js";

/** The first note; the others are folded away. */
export function capture({ run: { report, about } }: View): Section {
  const notes = [
    ...report.capture.map((one) => h("li", null, h("p", null, one.note), h("p", { class: "dim" }, one.do), one.snippet.trim() === "" ? null : snippet(one.snippet, "Next capture"))),
    ...about.map((line) => h("li", null, h("p", null, line))),
  ];
  const more = notes.slice(1);
  return section(
    "capture",
    "About this trace",
    notes.length === 0 ? "" : String(notes.length),
    report.capture.length === 0 ? empty("The capture is sound.") : null,
    h("ul", { class: "notes" }, ...notes.slice(0, 1)),
    more.length === 0 ? null : h("details", { class: "as-table folded" }, h("summary", null, `${count(more.length)} more`), h("ul", { class: "notes" }, ...more)),
    report.broken.length === 0 ? null : h("div", { class: "caveat" }, h("strong", null, "Broken: "), h("ul", { class: "plain" }, ...report.broken.map((one) => h("li", null, h("code", null, one.name), `: ${one.error}`)))),
  );
}

/** What was checked and is no cost here, folded by what it is about. */
export function passed({ run: { report } }: View): Section {
  const kinds = new Map<string, Report["passed"]>();
  for (const one of report.passed) kinds.set(one.category, [...(kinds.get(one.category) ?? []), one]);
  const groups = [...kinds].sort((a, b) => b[1].length - a[1].length);
  return section(
    "passed",
    "Looked at and fine",
    report.passed.length === 0 ? "" : count(report.passed.length),
    report.passed.length === 0 ? empty("No rule could tell that anything is fine.") : h("p", { class: "dim" }, "Faults that were looked for, and are not there or cost nothing."),
    groups.length === 0 ? null : h("details", { class: "metric-group folded" }, h("summary", null, groups.map(([kind, rows]) => `${kind} ${rows.length}`).join(", ")),
      ...groups.map(([kind, rows]) => h("div", null, h("h3", null, kind), h("ul", { class: "plain" }, ...rows.map((one) => h("li", null, "✓ ", h("s", null, one.title), " ", h("code", { class: "dim small" }, one.rule_id))))))),
  );
}

const GROUPS: Record<string, string> = {
  time: "Where a step's time goes",
  host: "Host, input and Python",
  kernels: "Kernels and ops",
  compute: "What is computed",
  copies_and_memory: "Copies and memory",
  collectives: "Collectives and balance",
  machine: "The machine meanwhile",
  trace: "The trace itself",
};

/** The group of each module of metrics; any other's is what is computed. */
const GROUP_OF: Record<string, string> = {
  step_time: "time",
  between_dispatches: "host",
  input: "host",
  launch: "host",
  collectives: "collectives",
  collective_kinds: "collectives",
  stragglers: "collectives",
  kinds: "kernels",
  precision: "kernels",
  products: "kernels",
  programs: "kernels",
  copies: "copies_and_memory",
  memory: "copies_and_memory",
  machine: "machine",
  capture: "trace",
  devices: "trace",
};

/** By what they are about; those that the trace cannot give are folded away with their reasons. */
export function metrics({ run: { report, metric_modules: modules } }: View): Section {
  const all = Object.entries(report.metrics);
  const groupOf = (name: string): string => GROUP_OF[modules[name] ?? ""] ?? "compute";
  const known = all.filter(([, one]) => one.value !== null);
  const groups = Object.keys(GROUPS)
    .map((group) => ({ group, rows: known.filter(([name]) => groupOf(name) === group) }))
    .filter(({ rows }) => rows.length > 0)
    .map(({ group, rows }) => foldedMetrics(`${GROUPS[group]!} (${rows.length})`, rows, false));
  const absent = all.filter(([, one]) => one.value === null);
  if (absent.length > 0) groups.push(foldedMetrics(`Not known from this trace (${absent.length})`, absent, false));
  const found = h("span", { class: "dim small", "aria-live": "polite" });
  const search = h("input", { type: "search", placeholder: "Find a metric", "aria-label": "Find a metric" });
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase().replaceAll("_", " ");
    const kept = groups.reduce((sum, one) => sum + one.filter(wanted), 0);
    found.textContent = `${count(kept)} of ${count(all.length)}`;
  });
  return section("metrics", "Metrics", count(known.length), h("div", { class: "toolbar" }, search, found, csvButton("metrics", () => [["metric", "value", "unit", "meaning"], ...all.map(([name, one]) => [name, one.value, one.unit, one.reason ?? one.about])])), ...groups.map((one) => one.element));
}

interface FoldedMetrics {
  element: HTMLElement;
  /** Shows the rows that hold the words; returns how many. */
  filter: (wanted: string) => number;
}

function foldedMetrics(title: string, rows: [string, MetricValue][], open: boolean): FoldedMetrics {
  const lines = rows.map(([name, one]) => {
    const words = one.value === null ? `Not known: ${one.reason ?? ""}` : one.about;
    return { searched: `${name.replaceAll("_", " ")} ${words}`.toLowerCase(), element: h("div", { class: "metric" }, h("dt", null, h("code", null, name), h("span", { class: "dim" }, ...withCode(words))), h("dd", { class: "number" }, one.value === null ? "–" : inWords(one.value, one.unit))) };
  });
  const element = h("details", { class: "metric-group", open }, h("summary", null, title), h("dl", null, ...lines.map((one) => one.element)));
  return {
    element,
    filter: (wanted) => {
      const kept = lines.filter((one) => {
        one.element.hidden = !one.searched.includes(wanted);
        return !one.element.hidden;
      }).length;
      element.hidden = kept === 0;
      element.open = wanted === "" ? open : true;
      return kept;
    },
  };
}

export function notApplicable({ run: { report } }: View): Section {
  const reasons = new Map<string, string[]>();
  for (const one of report.not_applicable) reasons.set(one.reason, [...(reasons.get(one.reason) ?? []), one.rule_id]);
  return section(
    "not-applicable",
    "Not applicable",
    report.not_applicable.length === 0 ? "" : String(report.not_applicable.length),
    h("p", { class: "dim" }, report.not_applicable.length === 0 ? "Every rule applies to this trace." : "This trace cannot decide these rules. That does not mean that they found nothing."),
    report.not_applicable.length === 0 ? null : h("details", { class: "metric-group folded" }, h("summary", null, "Why"), h("dl", { class: "reasons" }, ...[...reasons].map(([reason, rules]) => h("div", null, h("dt", null, ...withCode(reason)), h("dd", null, ...rules.map((rule) => h("code", null, rule))))))),
  );
}
