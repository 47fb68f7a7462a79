/** Two runs side by side: where a step's time goes in each, what changed, and which findings came and went. */
import { CLASSES } from "../data/classes.js";
import type { ComparedRuns, Finding, PageData } from "../data/generated.js";
import { texts } from "../data/read.js";
import { h } from "../dom.js";
import { bar, parts, swatch } from "../parts/bar.js";
import { section, smallTable, type Section, type View } from "../parts/section.js";
import { change, duration, percent } from "../words.js";
import { verdictName } from "./verdict.js";

const MOST_OPS = 12;

/** null with a single run. */
export function compare({ data, run, other }: View): Section | null {
  if (other === null) return null;
  const known = data.comparisons.find((one) => data.runs[one.new] === run && data.runs[one.base] === other);
  const [time, before] = [stepMs(run), stepMs(other)];
  const longest = Math.max(time, before);
  const refused = known !== undefined && known.causes.length === 0 ? known.differences : null; // what runs of other kinds differ by is no change
  return section(
    "compare",
    "Side by side",
    "",
    known !== undefined ? h("p", null, h("strong", null, known.summary), ` Compared with ${other.report.run.name}.`) : h("p", null, `A median step takes ${duration(time)} here and ${duration(before)} in ${other.report.run.name}: `, h("strong", null, difference(time, before)), "."),
    side(run, "this run", time / longest),
    side(other, other.report.run.name, before / longest),
    refused === null ? classes(run, other) : list("The runs differ in", refused),
    known === undefined ? opsChanged(run, other) : refused === null ? causes(known) : null,
    refused === null ? findingsChanged(run, other) : null,
  );
}

function stepMs(run: PageData): number {
  return run.report.steps.time_ms?.median ?? 0;
}

function difference(time: number, before: number): string {
  if (before <= 0 || time <= 0) return "no steps to compare";
  const share = time / before - 1;
  return `${change(time - before)}, ${percent(Math.abs(share))} ${share > 0 ? "longer" : "shorter"}`;
}

function side(run: PageData, name: string, scale: number): HTMLElement {
  return h("div", { class: "side" }, h("p", { class: "small" }, h("strong", null, verdictName(run.report)), h("span", { class: "dim" }, ` ${name}, ${duration(stepMs(run))} per median step`)), bar(parts(run.report.breakdown), Math.max(scale, 0.02)));
}

/** Differences add up to that of the step. */
function classes(run: PageData, other: PageData): HTMLElement {
  const rows = CLASSES.map((kind) => ({ kind, now: (run.report.breakdown[kind] ?? 0) * stepMs(run), was: (other.report.breakdown[kind] ?? 0) * stepMs(other) }));
  return smallTable("Where the step's time changed", [{ title: "class" }, { title: "this run", number: true }, { title: "other run", number: true }, { title: "change", number: true }],
    [...rows.filter((one) => one.now > 0 || one.was > 0).map((one) => [h("span", null, swatch(one.kind), one.kind), duration(one.now), duration(one.was), change(one.now - one.was)]),
      [h("strong", null, "median step"), duration(stepMs(run)), duration(stepMs(other)), change(stepMs(run) - stepMs(other))]]);
}

function list(title: string, lines: (string | HTMLElement)[]): HTMLElement | null {
  return lines.length === 0 ? null : h("div", null, h("h3", null, title), h("ul", { class: "plain" }, ...lines.map((one) => h("li", null, one))));
}

/** Ops are recognised here when compilers number them anew, so they say more than a table by name. */
function causes(known: ComparedRuns): HTMLElement {
  return h("div", null, h("h3", null, "Causes"), h("p", { class: "dim small" }, "They add up to the change of the step."),
    smallTable("Causes of the change", [{ title: "cause" }, { title: "change", number: true }],
      [...known.causes.map((one) => [h("span", null, one.class_name === "" ? null : h("strong", null, swatch(one.class_name), `${one.class_name} `), one.words), change(one.change_ms)]),
        [h("strong", null, "total, median step time"), h("strong", null, change(known.change_ms))]]),
    list("Evidence", known.beside),
    list("The runs differ in", known.differences));
}

function opsChanged(run: PageData, other: PageData): HTMLElement | null {
  const [now, was] = [opTimes(run), opTimes(other)];
  const changed = [...new Set([...now.keys(), ...was.keys()])]
    .map((name) => ({ name, now: now.get(name) ?? 0, was: was.get(name) ?? 0 }))
    .filter((one) => one.now !== one.was)
    .sort((a, b) => Math.abs(b.now - b.was) - Math.abs(a.now - a.was))
    .slice(0, MOST_OPS);
  if (changed.length === 0) return null;
  return h("div", null, h("h3", null, "Ops that changed most"),
    smallTable("Ops that changed most", [{ title: "op" }, { title: "this run", number: true }, { title: "other run", number: true }, { title: "change", number: true }],
      changed.map((one) => [h("code", { class: "long" }, one.name.slice(0, 120)), one.now === 0 ? "–" : duration(one.now), one.was === 0 ? "–" : duration(one.was), change(one.now - one.was)])));
}

function opTimes(run: PageData): Map<string, number> {
  const times = run.ops.ms_per_step;
  const [op, kernel] = [texts(run.ops.op), texts(run.ops.kernel)];
  const found = new Map<string, number>();
  times.forEach((ms, row) => {
    const name = op[row] ?? kernel[row] ?? "";
    found.set(name, (found.get(name) ?? 0) + ms);
  });
  return found;
}

function findingsChanged(run: PageData, other: PageData): HTMLElement {
  const [now, was] = [run, other].map((one) => one.report.findings.filter((finding) => finding.category !== "capture"));
  const ids = (findings: Finding[]): Set<string> => new Set(findings.map((one) => one.rule_id));
  const found = (title: string, findings: Finding[]): HTMLElement | null => list(title, findings.map((one) => h("span", null, h("span", { class: `severity s-${one.severity}` }, one.severity), ` ${one.title}`)));
  return h("div", { class: "columns" },
    found("Findings only in this run", now!.filter((one) => !ids(was!).has(one.rule_id))),
    found("Only in the other run", was!.filter((one) => !ids(now!).has(one.rule_id))),
    found("In both", now!.filter((one) => ids(was!).has(one.rule_id))));
}
