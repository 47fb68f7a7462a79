/** What to change: one card a finding, the largest saving first. */
import { claimed } from "../data/marked_findings.js";
import type { Finding, Fix, PageData, Report } from "../data/generated.js";
import { isHealthy } from "../data/health.js";
import { h, withCode } from "../dom.js";
import { copyButton } from "../parts/copy.js";
import { hasClass, openClass } from "./attribution.js";
import { section, type Section, type View } from "../parts/section.js";
import { duration, inWords, percent, plural, savingWords } from "../words.js";

export interface Findings extends Section {
  /** Opens a finding and brings it into view; false when there is none of this id. */
  open: (id: string) => boolean;
}

export function findings(view: View): Findings {
  const found = toChange(view.run.report);
  const asked = toCheck(view.run.report);
  const cards = [...found, ...asked].map((one, place) => card(one, place, view));
  const open = (id: string): boolean => {
    const place = [...found, ...asked].findIndex((one) => one.rule_id === id);
    const details = cards[place]?.querySelector("details");
    if (details === null || details === undefined) return false;
    details.open = true;
    cards[place]!.scrollIntoView({ block: "start" });
    details.querySelector("summary")?.focus({ preventScroll: true });
    return true;
  };
  const made = section(
    "findings",
    "Findings",
    found.length === 0 ? "" : String(found.length),
    found.length === 0 ? h("p", { class: "calm" }, isHealthy(view.run.report) ? "Found nothing to change." : "No rule names a change for this run.") : null,
    h("ol", { class: "cards" }, ...cards.slice(0, found.length)),
    plan(view.run, open),
    asked.length === 0 ? null : h("h3", null, "Worth checking"),
    asked.length === 0 ? null : h("ol", { class: "cards", start: found.length + 1 }, ...cards.slice(found.length)),
  );
  return { ...made, open };
}

/** The changes in the order in which to make them, each on top of those before it; null where one or none is worth it. */
function plan({ plan: changes, plan_end: end }: PageData, open: (id: string) => void): HTMLElement | null {
  if (changes.length === 0) return null;
  return h("div", { class: "plan", role: "group", "aria-label": "All changes together" },
    h("h3", null, "Together, in this order, each on top of those before it"),
    h("ol", null, ...changes.map((one) => h("li", null,
      h("button", { type: "button", class: "quiet", on: { click: () => { open(one.rule_id); } } }, one.title),
      ` saves ${one.saves}, leaves ${one.leaves}`))),
    end === "" ? null : h("p", { class: "dim small" }, end));
}

/** The findings that are about the program, the largest saving first; those about the trace have a section of their own. */
export function toChange(report: Report): Finding[] {
  return report.findings.filter((one) => one.category !== "capture" && one.proof !== "likely");
}

/** Questions, which only the user can answer; the report has them last. */
export function toCheck(report: Report): Finding[] {
  return report.findings.filter((one) => one.category !== "capture" && one.proof === "likely");
}

/** What it saves; where nothing bears a saving out what it takes, and both where more goes than it takes. Of what only a guide
 * stands behind `documented, takes 12% of the step`; else empty. */
export function worthWords(report: Report, finding: Finding): string {
  const { takes } = finding;
  if (finding.few_steps !== undefined) return `in ${finding.few_steps}`;
  const taken = takes !== null && finding.rule_id !== "outside-the-steps" ? `takes ${percent(takes)} of the step` : "";
  if (finding.proof === "documented") return taken === "" ? "documented" : `documented, ${taken}`;
  const saving = savedWords(report, finding);
  if (saving === "") return taken;
  const more = takes !== null && takes < (finding.saving?.high ?? 0) - 0.005;
  return more ? `takes ${percent(takes)}, saves ${saving}` : `saves ${saving}`;
}

/** `35–70% of step time, 1.15 to 2.30 ms`; empty when a finding saves nothing on its own. */
export function savedWords(report: Report, { saving }: Finding): string {
  if (saving === null) return "";
  const step = report.steps.source === "whole-trace" ? 0 : (report.steps.time_ms?.median ?? 0);
  const share = savingWords(saving);
  if (share === "" || step <= 0) return share;
  const [low, high] = [duration(saving.low * step), duration(saving.high * step)];
  return `${share}, ${low === high || saving.low <= 0 ? high : `${low} to ${high}`}`;
}

/** What to change first, on the first screen: title, saving, place and edit. null when there is nothing to change. */
export function firstChange(report: Report, open: (id: string) => void): HTMLElement | null {
  const finding = toChange(report).find((one) => one.tier === undefined);
  if (finding === undefined) return null;
  const fix = finding.fixes[0];
  const worth = worthWords(report, finding);
  const edit = fix === undefined ? "" : fix.snippet.trim() !== "" ? fix.snippet : variablesOf(fix);
  return h("div", { class: `first s-${finding.severity}`, role: "group", "aria-label": "What to change first" },
    h("p", { class: "first-head" }, h("strong", null, finding.title), worth === "" ? null : h("span", { class: "saving" }, worth)),
    h("p", { class: "first-where small" }, ...whereWords(finding)),
    fix === undefined ? null : h("p", null, ...withCode(fix.do)),
    edit.trim() === "" ? null : snippet(edit, "The first change"),
    h("p", null, h("button", { type: "button", class: "quiet", on: { click: () => { open(finding.rule_id); } } }, "Why, evidence and other fixes")));
}

/** `train.py:42 in dense/MatMul`, or that the trace does not tell. */
function whereWords(finding: Finding): (Node | string)[] {
  const [place] = finding.locations;
  if (place === undefined) return [h("span", { class: "dim" }, "This trace does not tell the line. "), h("code", null, "tfadvisor fix RUN --source DIR"), h("span", { class: "dim" }, " looks for it in the program.")];
  const others = finding.locations.length - 1;
  return [h("code", null, placeWords(place)), place.op === "" ? "" : h("span", { class: "dim" }, ` in ${place.op}`), others > 0 ? h("span", { class: "dim" }, `, and ${others} more`) : ""];
}

function placeWords({ file, line }: Finding["locations"][number]): string {
  return line === null ? file : `${file}:${line}`;
}

function card(finding: Finding, place: number, view: View): HTMLElement {
  const question = finding.ask !== undefined;
  const worth = worthWords(view.run.report, finding);
  const blocks = finding.fixes.map((fix, number) => fixBlock(fix, finding.fixes.length > 1 ? `Fix ${number + 1}` : "Fix"));
  return h(
    "li",
    { class: `card s-${finding.severity}`, id: `finding-${finding.rule_id}` },
    h(
      "details",
      { open: place === 0 && !question },
      h("summary", null, h("span", { class: "severity" }, finding.severity), finding.certainty === "sure" ? null : h("span", { class: "chip" }, finding.certainty), h("span", { class: "card-title" }, `${place + 1}. ${finding.title}`), finding.tier === undefined ? null : h("span", { class: "chip" }, finding.tier), worth === "" ? null : h("span", { class: "saving" }, worth)),
      h("div", { class: "card-body" },
        finding.ask === undefined ? null : h("p", null, h("strong", null, finding.ask)),
        h("p", null, finding.summary),
        finding.saving === null ? null : h("p", { class: "dim" }, `The range: ${sentence(finding.saving.basis)}`),
        finding.caveat === "" ? null : h("p", { class: "caveat" }, finding.caveat),
        locations(finding),
        ...blocks.slice(0, 1),
        blocks.length < 2 ? null : folding(plural(blocks.length - 1, "other fix", "other fixes"), ...blocks.slice(1)),
        finding.evidence.length === 0 ? null : folding(`Evidence: ${plural(finding.evidence.length, "fact")}`, evidence(finding, view.run.facts)),
        foot(finding, view)),
    ),
  );
}

function folding(about: string, ...inside: (Node | null)[]): HTMLElement {
  return h("details", { class: "as-table folded" }, h("summary", null, about), ...inside);
}

function locations(finding: Finding): HTMLElement | null {
  if (finding.locations.length === 0) return null;
  return h("ul", { class: "where" }, ...finding.locations.map((one) => h("li", null, h("code", null, placeWords(one)), one.op === "" ? null : ` in ${one.op}`, one.text === undefined ? null : h("span", null, ": ", h("code", null, one.text)))));
}

export function fixBlock(fix: Fix, name: string): HTMLElement {
  const variables = variablesOf(fix);
  return h(
    "div",
    { class: "fix" },
    h("h3", null, name, h("span", { class: "chip" }, fix.kind)),
    h("p", null, ...withCode(fix.do)),
    fix.before === undefined ? null : h("p", { class: "dim small" }, `Before: ${fix.cures ?? ""}`),
    fix.before === undefined ? null : snippet(fix.before, `${name}, before`),
    fix.before === undefined ? null : h("p", { class: "dim small" }, "After"),
    fix.snippet.trim() === "" ? null : snippet(fix.snippet, name),
    variables === "" ? null : snippet(variables, `${name}, environment`),
    h("p", { class: "dim small" }, ...withCode(`Valid for ${sentence(fix.valid_for)}${fix.side_effect === "" ? "" : ` Side effect: ${fix.side_effect}`}`)),
  );
}

/** Those that the snippet does not set itself. */
function variablesOf(fix: Fix): string {
  return Object.entries(fix.env).filter(([, value]) => !fix.snippet.includes(value)).map(([key, value]) => `${key}=${value}`).join(" ");
}

export function snippet(text: string, name: string): HTMLElement {
  const clean = text.replace(/\n+$/, "");
  return h("div", { class: "snippet" }, h("pre", { tabindex: 0, role: "group", "aria-label": `${name}, as code` }, h("code", null, clean)), copyButton(clean, name));
}

/** Each number with its definition in words. */
function evidence(finding: Finding, facts: Record<string, string>): HTMLElement | null {
  if (finding.evidence.length === 0) return null;
  return h(
    "dl",
    { class: "evidence", "aria-label": "Evidence" },
    ...finding.evidence.map((one) =>
      h("div", { class: typeof one.value === "number" ? null : "in-words" }, h("dt", null, firstSentence(facts[one.text.replaceAll(" ", "_")]?.split(": ")[0] ?? one.text)), h("dd", null, typeof one.value === "number" ? inWords(one.value, one.unit) : (one.value ?? "–")))),
  );
}

/** Up to its full stop, a bracket left out. */
export function firstSentence(text: string): string {
  return text.replace(/ \([^()]*\)/g, "").split(/\. (?=[A-Z])/)[0]!.replace(/[`.]$|`/g, "");
}

function foot(finding: Finding, view: View): HTMLElement {
  const kinds = claimed(finding);
  const canDraw = kinds.length > 0 && view.run.drawn.length > 0;
  return h(
    "p",
    { class: "card-foot small" },
    canDraw ? h("button", { type: "button", class: "quiet", on: { click: () => { view.links.showTimeline("", null, kinds); } } }, `Show ${kinds.join(", ")} in the timeline`) : null,
    ...kinds.filter((one) => hasClass(view.run.report.attribution, one)).slice(0, 2).map((one) => h("button", { type: "button", class: "quiet", on: { click: () => { openClass(one); } } }, `Where ${one} goes`)),
    ...finding.source.map((one) => source(one)),
    h("a", { ...view.links.toFinding(finding.rule_id), title: "Link to this finding" }, finding.rule_id),
  );
}

function source({ doc, section, url }: Finding["source"][number]): HTMLElement {
  const name = section.startsWith(doc) ? section : `${doc} ${section}`.trim();
  const host = /^https?:\/\/(?:www\.)?([^/]+)/.exec(url)?.[1];
  const words = `Source: ${name}${host === undefined ? "" : `, ${host}`}`;
  return url === "" ? h("span", { class: "dim" }, words) : h("a", { href: url, rel: "noopener noreferrer", target: "_blank" }, words);
}

/** Ends with one full stop. */
function sentence(text: string): string {
  return `${text.trim().replace(/\.+$/, "")}.`;
}
