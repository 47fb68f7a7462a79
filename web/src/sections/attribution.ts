/** Where the step goes: class, activity, place, as a tree that is open as far as it matters. */
import type { ActivityTime, ClassTime, Place, PlacedTime } from "../data/generated.js";
import { h } from "../dom.js";
import { swatch } from "../parts/bar.js";
import { empty, section, type Section, type View } from "../parts/section.js";
import { duration, percent } from "../words.js";

const OPEN = 0.1;

export function attribution({ run: { report } }: View): Section {
  const classes = report.attribution;
  if (classes.length === 0) return section("where", "Where the step goes", "", empty(`Not known: ${report.attribution_absent ?? "the trace holds no step"}.`));
  return section("where", "Where the step goes", "",
    h("p", { class: "dim small" }, "Each instant of a step belongs to one class and one activity, so that every level adds up to the one above. Where several ops run at once, the instant is shared among them."),
    h("ul", { class: "tree" }, ...classes.map(classNode)));
}

/** Opens a class in the tree and brings it into view. */
export function openClass(kind: string): void {
  const node = document.getElementById(`where-${kind}`);
  if (!(node instanceof HTMLDetailsElement)) return;
  node.open = true;
  node.scrollIntoView({ block: "start" });
  node.querySelector("summary")?.focus({ preventScroll: true });
}

/** Whether the tree has the class. */
export function hasClass(classes: readonly ClassTime[], kind: string): boolean {
  return classes.some((one) => one.class === kind);
}

function classNode(one: ClassTime): HTMLElement {
  return h("li", null, h("details", { id: `where-${one.class}`, open: one.fraction >= OPEN },
    h("summary", null, h("span", { class: "tree-row" }, h("span", { class: "tree-name" }, swatch(one.class), h("strong", null, one.class)), ...numbers(one))),
    h("ul", null, ...one.parts.map(activityNode))));
}

function activityNode(one: ActivityTime): HTMLElement {
  if (one.parts.length === 0) return leaf(one);
  return h("li", null, h("details", null,
    h("summary", null, row(one)),
    h("ul", null, ...one.parts.map(leaf))));
}

function leaf(one: ActivityTime | PlacedTime): HTMLElement {
  return h("li", { class: "tree-leaf" }, row(one));
}

function row(one: ActivityTime | PlacedTime): HTMLElement {
  const where = placeWords(one.places[0], one.activity);
  return h("span", { class: "tree-row" },
    h("span", { class: "tree-name" }, one.activity, where === "" ? null : h("span", { class: "dim small" }, ` ${where}`)),
    ...numbers(one));
}

function numbers(one: { fraction: number; ms: number }): HTMLElement[] {
  return [h("span", { class: "number" }, percent(one.fraction)), h("span", { class: "number dim" }, duration(one.ms))];
}

/** `train.py:42, model/dense`: what the name itself does not say. */
export function placeWords(place: Place | undefined, activity: string): string {
  if (place === undefined) return "";
  const line = place.line === null ? place.file : `${place.file}:${place.line}`;
  return [line, place.layer, place.stage, place.kernel].filter((one) => one !== "" && !activity.includes(one)).join(", ");
}
