/** What costs most, and where each instant of a step goes. */
import { bar, legend, parts } from "../parts/bar.js";
import { runBar } from "../parts/run_bar.js";
import { section, type Section, type View } from "../parts/section.js";
import { h } from "../dom.js";
import { VERDICT_NAMES, type PageData, type Report } from "../data/generated.js";
import { isHealthy } from "../data/health.js";
import { StepTable } from "../data/steps.js";
import { firstChange } from "./findings.js";
import { count, duration, percent, plural } from "../words.js";

export function verdictName(report: Report): string {
  const { bottleneck } = report.verdict;
  return bottleneck === "compute" && isHealthy(report) ? VERDICT_NAMES["none"]! : (VERDICT_NAMES[bottleneck] ?? bottleneck);
}

export function verdictTone(report: Report): string {
  if (report.verdict.bottleneck === "unknown") return "unsure";
  if (report.verdict.bottleneck === "compute" && !isHealthy(report)) return "works";
  return report.verdict.healthy ? "good" : "bad";
}

export function verdict({ run, links }: View): Section {
  const { report, bar_note: note } = run;
  const found = parts(report.breakdown);
  const step = report.steps.source === "whole-trace" ? null : (report.steps.time_ms?.median ?? null);
  const made = section(
    "verdict",
    "Verdict",
    "",
    h("div", { class: `verdict ${verdictTone(report)}` }, h("p", { class: "verdict-name" }, verdictName(report)), h("p", { class: "verdict-words" }, report.verdict.summary)),
    firstChange(report, links.openFinding),
    ...runBar(report.run_account, report.run_account_absent),
    h("h3", null, step === null ? "Where the time goes" : `Where a step of ${duration(step)} goes`),
    found.length > 0 ? bar(found) : h("p", { class: "dim" }, "The trace holds no step."),
    legend(found, step),
    note === "" ? null : h("p", { class: "dim small" }, note),
    stats(report, longestStep(run, links)),
  );
  return made;
}

const STEP_SOURCES: Record<string, string> = {
  marker: "markers",
  module: "runs of a compiled program",
  "launch-pattern": "a pattern of launches",
  "host-loop": "a loop on the host",
  "whole-trace": "none found",
};

function stats(report: Report, longest: Node | string): HTMLElement {
  const { steps } = report;
  const times = steps.time_ms;
  const rows: [string, string, ...(Node | string)[]][] = [];
  if (times !== null && steps.source !== "whole-trace") {
    const several = steps.count > 1;
    rows.push(["Step", duration(times.median), ...(several ? [`median; mean ${duration(times.mean)}`] : ["the only one that was counted", longest])]);
    if (several) rows.push(["95th percentile", duration(times.p95), `shortest ${duration(times.min)}, longest ${duration(times.max)}`, longest]);
    rows.push(["Steps", count(steps.count), stepsAside(report)]);
  }
  const found = steps.source === "marker" ? "certain" : `inferred, confidence ${percent(steps.confidence)}`;
  rows.push(["Steps from", STEP_SOURCES[steps.source] ?? steps.source, `${steps.about}; ${found}`]);
  const peak = report.metrics["peak_memory_fraction"]?.value;
  if (typeof peak === "number") rows.push(["Peak memory", percent(peak), "of the device memory"]);
  return h("dl", { class: "stats" }, ...rows.map(([name, value, ...about]) => h("div", null, h("dt", null, name), h("dd", null, h("strong", null, value), h("span", { class: "dim" }, ...about)))));
}

/** ` (train 9)`, which leads to its timeline. */
function longestStep(run: PageData, links: View["links"]): Node | string {
  const table = new StepTable(run);
  if (table.rows === 0) return "";
  const row = table.longest(Array.from({ length: table.rows }, (_, at) => at));
  const name = `${table.name(row)}${table.hosts.length > 1 ? ` on ${table.host(row)}` : ""}`;
  if (run.drawn.length === 0) return ` (${name})`;
  const show = (event: Event): void => { event.preventDefault(); links.showTimeline(table.host(row), table.index(row), null); };
  return h("span", null, " (", h("a", { href: "#timeline", title: "Show its timeline", on: { click: show } }, name), ")");
}

function stepsAside(report: Report): string {
  const aside = report.steps.set_aside;
  const where = report.run.hosts.length > 1 ? `on each of ${report.run.hosts.length} hosts` : "counted";
  if (aside.length === 0) return where;
  return `${where}; ${plural(aside.length, "step")} set aside (${[...new Set(aside.map((one) => one.reason))].sort().join(", ")})`;
}
