/** The program's own lines with what each costs, as line profilers show them. */
import type { AnnotatedFile, LineCost, Report, SourcePart } from "../data/generated.js";
import { h } from "../dom.js";
import { swatch } from "../parts/bar.js";
import { percent } from "../words.js";

const STATES: Record<string, string> = { same: "as it ran", differs: "differs from what ran", unknown: "" };

/** A folded file after the other; null where the report has no source. */
export function source(report: Report): HTMLElement | null {
  const files = report.source ?? [];
  if (files.length === 0) return null;
  return h("div", { class: "source" },
    h("h3", null, "The program's lines"),
    h("p", { class: "dim small" }, "Share of the step and its classes by line. The first line of a function bears what its own lines take where no sample says which."),
    ...files.map((file, place) => annotated(file, place === 0)));
}

function annotated(file: AnnotatedFile, open: boolean): HTMLElement {
  const costs = new Map(file.costs.map((one) => [one.line, one]));
  const state = STATES[file.state] ?? "";
  return h("details", { open },
    h("summary", null, h("strong", null, file.file), ` ${percent(file.fraction)} of the step`, state === "" ? null : h("span", { class: "dim small" }, ` ${state}`)),
    h("div", { class: "source-lines" }, h("table", { "aria-label": `Lines of ${file.file}` },
      h("thead", null, h("tr", null, ...["Line", "Share", "Classes", "Source"].map((head) => h("th", { scope: "col" }, head)))),
      ...file.parts.map((part) => h("tbody", null, ...rows(part, costs))))));
}

function rows(part: SourcePart, costs: ReadonlyMap<number, LineCost>): HTMLElement[] {
  return part.lines.map((text, place) => {
    const number = part.first + place;
    const cost = costs.get(number);
    const classes = Object.entries(cost?.classes ?? {}).sort(([, one], [, other]) => other - one);
    return h("tr", { class: cost === undefined ? "dim" : null },
      h("td", { class: "number" }, String(number)),
      h("td", { class: "number" }, cost === undefined ? "" : percent(cost.fraction)),
      h("td", null, ...classes.map(([name]) => h("span", { class: "small" }, swatch(name), `${name} `))),
      h("td", null, h("code", null, text)));
  });
}
