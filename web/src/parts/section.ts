/** A part of the page with a heading; what all sections are made of. */
import { freshId, h } from "../dom.js";
import type { Data, PageData } from "../data/generated.js";
import type { Class } from "../data/classes.js";
import type { LoadStep } from "../data/every_step.js";
import { csvButton } from "./csv.js";

/** What a section is made from. other: the run to compare with. signal: ends when another run is shown. */
export interface View {
  data: Data;
  run: PageData;
  other: PageData | null;
  signal: AbortSignal;
  links: Links;
}

/** How sections reach each other. */
export interface Links {
  /** Asks a server for a drawn step; null in a file. */
  loadStep: LoadStep;
  /** Opens a finding and brings it into view. */
  openFinding: (id: string) => void;
  toFinding: (id: string) => { href: string; target?: string };
  /** Shows a drawn step, if there is one, with these classes of time highlighted; false when there is none. */
  showTimeline: (host: string, index: number | null, kinds: readonly Class[] | null) => boolean;
}

export interface Section {
  id: string;
  title: string;
  /** What stands beside its name in the list of sections. */
  note?: string;
  element: HTMLElement;
}

export function section(id: string, title: string, note: string, ...children: (Node | null)[]): Section {
  const heading = h("h2", { id: `${id}-title` }, title, note === "" ? null : h("span", { class: "note" }, note));
  return { id, title, note, element: h("section", { id, "aria-labelledby": `${id}-title`, tabindex: -1 }, heading, ...children) };
}

/** The same with all but its heading folded away: what a reader asks for next, and not first. */
export function folded(made: Section | null): Section | null {
  if (made === null) return null;
  const [heading, ...rest] = made.element.children;
  const details = h("details", { class: "folded" }, h("summary", null, "Show"), ...rest);
  made.element.replaceChildren(heading!, details);
  return made;
}

const NARROW = 640;

/** On a phone folded, where it would be a screen or more of its own. */
export function foldedOnPhones(made: Section | null): Section | null {
  return window.innerWidth < NARROW ? folded(made) : made;
}

/** Opens a section that is folded. */
export function unfold(made: HTMLElement | null): void {
  const details = made?.querySelector<HTMLDetailsElement>(":scope > details.folded");
  if (details) details.open = true;
}

export function empty(text: string): HTMLElement {
  return h("p", { class: "dim empty" }, text);
}

/** A control with its name beside it. */
export function labelled(name: string, control: HTMLElement): HTMLElement {
  control.id ||= freshId("control");
  return h("span", { class: "labelled" }, h("label", { for: control.id }, name), control);
}

export function select(options: string[], chosen: number, onChoose: (index: number) => void): HTMLSelectElement {
  const element = h("select", null, ...options.map((text, index) => h("option", { value: index, selected: index === chosen }, text)));
  element.addEventListener("change", () => { onChoose(element.selectedIndex); });
  return element;
}

/** The same content as a table, hidden until asked for; made when it is first shown. */
export function asTable(about: string, make: () => HTMLElement): HTMLElement {
  const details = h("details", { class: "as-table" }, h("summary", null, about));
  details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) details.append(make()); });
  return details;
}

const MOST_ABREAST = 4;

/** A plain table for a few rows; of many columns, which a phone shows below each other. */
export function smallTable(label: string, heads: { title: string; number?: boolean }[], rows: (Node | string)[][]): HTMLElement {
  const side = (place: number): string | null => (heads[place]?.number === true ? "number" : null);
  const words = (cell: Node | string): string => (typeof cell === "string" ? cell : (cell.textContent ?? ""));
  return h(
    "div",
    null,
    h("div", { class: `table-frame${heads.length > MOST_ABREAST ? " stacked" : ""}`, tabindex: 0, role: "region", "aria-label": label },
      h("table", null, h("thead", null, h("tr", null, ...heads.map((one, place) => h("th", { scope: "col", class: side(place) }, one.title)))),
        h("tbody", null, ...rows.map((cells) => h("tr", null, ...cells.map((cell, place) => h(place === 0 ? "th" : "td", { scope: place === 0 ? "row" : null, class: side(place), "data-title": heads[place]!.title }, cell))))))),
    csvButton(label, () => [heads.map((one) => one.title), ...rows.map((cells) => cells.map(words))]),
  );
}
