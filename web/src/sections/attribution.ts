/** Where the step goes: class, activity, place, as a tree that is open as far as it matters. */
import type { ActivityTime, Cause, ClassTime, Done, Place, PlacedTime } from "../data/generated.js";
import { h } from "../dom.js";
import { swatch } from "../parts/bar.js";
import { empty, section, type Section, type View } from "../parts/section.js";
import { light } from "./light.js";
import { source } from "./source.js";
import { duration, percent } from "../words.js";

const OPEN = 0.1;
const SHOWN = 4;

/** Of kernels whose whole name fills lines. */
let shortNames: Record<string, string> = {};

export function attribution({ run: { report, short_names: names } }: View): Section {
  shortNames = names;
  const classes = report.attribution;
  if (classes.length === 0) return section("where", "Where the step goes", "", empty(`Not known: ${report.attribution_absent ?? "the trace holds no step"}.`));
  return section("where", "Where the step goes", "",
    h("p", { class: "dim small" }, "Each instant of a step belongs to one class and one activity, so that every level adds up to the one above. Where several ops run at once, the instant is shared among them."),
    h("ul", { class: "tree" }, ...classes.map(classNode)),
    light(report),
    source(report));
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
    h("ul", null, ...activities(one.parts))));
}

/** The largest; the others are folded away together. */
function activities(parts: readonly ActivityTime[]): HTMLElement[] {
  const rest = parts.slice(SHOWN);
  if (rest.length < 2) return parts.map(activityNode);
  const sum = { fraction: 0, ms: 0 };
  for (const one of rest) {
    sum.fraction += one.fraction;
    sum.ms += one.ms;
  }
  return [
    ...parts.slice(0, SHOWN).map(activityNode),
    h("li", null, h("details", { class: "folded" },
      h("summary", null, h("span", { class: "tree-row" }, h("span", { class: "tree-name dim" }, `${rest.length} more`), ...numbers(sum))),
      h("ul", null, ...rest.map(activityNode)))),
  ];
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
  const name = shortNames[one.activity] ?? one.activity;
  const cause = "cause" in one ? causeWords(one.cause) : "";
  return h("span", { class: "tree-row" },
    h("span", { class: "tree-name", title: name === one.activity ? "" : one.activity.slice(0, 400) }, name, where === "" ? null : h("span", { class: "dim small" }, ` ${where}`), cause === "" ? null : h("span", { class: "dim small" }, ` ${cause}`)),
    ...numbers(one));
}

function numbers(one: { fraction: number; ms: number }): HTMLElement[] {
  return [h("span", { class: "number" }, percent(one.fraction)), h("span", { class: "number dim" }, duration(one.ms))];
}

/** `converting Python values one by one 56% (32,768 × _dtype_and_weaktype a step)`, and in which steps where these are not all. */
export function causeWords({ does, often, count, of_steps, worst_ms }: Cause): string {
  const done = does.map(doneWords).join(", ");
  if (often === "" || often === "every") return done;
  const steps = `in ${count} of ${of_steps} steps, at least ${duration(worst_ms)} in one`;
  return done === "" ? steps : `${done}; ${steps}`;
}

const MANY = 10;

function doneWords({ what, by, fraction, count }: Done): string {
  const name = by.replace(/ \(.*$/, "");
  const number = Math.round(count).toLocaleString("en-US");
  if (what === "ops one by one") return `${number} ${what} ${percent(fraction)}: ${name}`;
  return `${what} ${percent(fraction)} (${count >= MANY ? `${number} × ${name} a step` : name})`;
}

/** `train.py:42, model/dense`: what the name itself does not say. */
export function placeWords(place: Place | undefined, activity: string): string {
  if (place === undefined) return "";
  const line = place.line === null ? place.file : `${place.file}:${place.line}`;
  return [line, place.layer, place.stage, shortNames[place.kernel] ?? place.kernel].filter((one) => one !== "" && !activity.includes(one)).join(", ");
}
