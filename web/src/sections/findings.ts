/** What to change: one card a finding, the largest saving first. */
import { claimed } from "../data/marked_findings.js";
import type { Finding, Fix } from "../data/generated.js";
import { h } from "../dom.js";
import { copyButton } from "../parts/copy.js";
import { section, type Section, type View } from "../parts/section.js";
import { inWords, savingWords } from "../words.js";

export interface Findings extends Section {
  /** Opens a finding and brings it into view; false when there is none of this id. */
  open: (id: string) => boolean;
}

export function findings(view: View): Findings {
  const found = view.run.report.findings.filter((one) => one.category !== "capture");
  const cards = found.map((one, place) => card(one, place, view));
  const made = section(
    "findings",
    "Findings",
    found.length === 0 ? "" : String(found.length),
    found.length === 0 ? h("p", { class: "calm" }, "Found nothing to change.") : null,
    h("ol", { class: "cards" }, ...cards),
  );
  return {
    ...made,
    open: (id) => {
      const place = found.findIndex((one) => one.rule_id === id);
      const details = cards[place]?.querySelector("details");
      if (details === null || details === undefined) return false;
      details.open = true;
      cards[place]!.scrollIntoView({ block: "start" });
      details.querySelector("summary")?.focus({ preventScroll: true });
      return true;
    },
  };
}

function card(finding: Finding, place: number, view: View): HTMLElement {
  const saving = savingWords(finding.saving);
  return h(
    "li",
    { class: `card s-${finding.severity}`, id: `finding-${finding.rule_id}` },
    h(
      "details",
      { open: place === 0 },
      h("summary", null, h("span", { class: "severity" }, finding.severity), h("span", { class: "card-title" }, `${place + 1}. ${finding.title}`), saving === "" ? null : h("span", { class: "saving" }, `saves ${saving}`)),
      h("div", { class: "card-body" },
        h("p", null, finding.summary),
        finding.caveat === "" ? null : h("p", { class: "caveat" }, finding.caveat),
        locations(finding),
        ...finding.fixes.map((fix, number) => fixBlock(fix, finding.fixes.length > 1 ? `Fix ${number + 1}` : "Fix")),
        evidence(finding),
        foot(finding, view)),
    ),
  );
}

function locations(finding: Finding): HTMLElement | null {
  if (finding.locations.length === 0) return null;
  return h("ul", { class: "where" }, ...finding.locations.map((one) => h("li", null, h("code", null, one.line === null ? one.file : `${one.file}:${one.line}`), one.op === "" ? null : ` in ${one.op}`)));
}

function fixBlock(fix: Fix, name: string): HTMLElement {
  const variables = Object.entries(fix.env).map(([key, value]) => `${key}=${value}`).join(" ");
  return h(
    "div",
    { class: "fix" },
    h("h3", null, name, h("span", { class: "chip" }, fix.kind)),
    h("p", null, fix.do),
    fix.snippet.trim() === "" ? null : snippet(fix.snippet, name),
    variables === "" ? null : snippet(variables, `${name}, environment`),
    h("p", { class: "dim small" }, `Valid for ${sentence(fix.valid_for)}${fix.side_effect === "" ? "" : ` Side effect: ${fix.side_effect}`}`),
  );
}

export function snippet(text: string, name: string): HTMLElement {
  const clean = text.replace(/\n+$/, "");
  return h("div", { class: "snippet" }, h("pre", { tabindex: 0, role: "group", "aria-label": `${name}, as code` }, h("code", null, clean)), copyButton(clean, name));
}

function evidence(finding: Finding): HTMLElement | null {
  if (finding.evidence.length === 0) return null;
  return h(
    "dl",
    { class: "evidence" },
    ...finding.evidence.map((one) =>
      h("div", null, h("dt", null, one.metric === null ? one.text : one.metric.replaceAll("_", " ")), h("dd", null, typeof one.value === "number" ? inWords(one.value, one.unit) : (one.value ?? "–")))),
  );
}

function foot(finding: Finding, view: View): HTMLElement {
  const kinds = claimed(finding);
  const canDraw = kinds.length > 0 && view.run.drawn.length > 0;
  return h(
    "p",
    { class: "card-foot small" },
    canDraw ? h("button", { type: "button", class: "quiet", on: { click: () => { view.links.showTimeline("", null, kinds); } } }, `Show ${kinds.join(", ")} in the timeline`) : null,
    finding.saving.high > 0 ? h("span", { class: "dim" }, `Saving: ${sentence(finding.saving.basis)}`) : null,
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
