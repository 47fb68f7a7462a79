/** A bar whose parts are classes of time, with a legend that says the same in words. */
import { CLASSES, MEANING, type Class } from "../data/classes.js";
import { h } from "../dom.js";
import { duration, percent } from "../words.js";

const SHOWN = 0.0005;

export interface Part {
  kind: Class;
  share: number;
}

/** Classes that take any time, in their order. */
export function parts(shares: Record<string, number>): Part[] {
  return CLASSES.map((kind) => ({ kind, share: shares[kind] ?? 0 })).filter((one) => one.share >= SHOWN);
}

/** scale: width of the bar's whole, 0..1. */
export function bar(found: Part[], scale = 1): HTMLElement {
  const words = found.map((one) => `${one.kind} ${percent(one.share)}`).join(", ");
  return h(
    "div",
    { class: "bar", role: "img", "aria-label": words, css: { width: `${scale * 100}%` } },
    ...found.map((one) => h("span", { class: `k-${one.kind}`, title: `${one.kind} ${percent(one.share)}: ${MEANING[one.kind]}`, css: { "flex-grow": String(one.share) } }, one.share * scale < 0.06 ? null : h("b", null, `${one.kind} ${percent(one.share)}`))),
  );
}

/** stepMs: null where steps are not told apart. */
export function legend(found: Part[], stepMs: number | null): HTMLElement {
  return h(
    "ul",
    { class: "legend" },
    ...[...found].sort((a, b) => b.share - a.share).map((one) =>
      h("li", { title: MEANING[one.kind] }, swatch(one.kind), h("span", null, one.kind), h("strong", null, percent(one.share)), stepMs === null ? null : h("span", { class: "dim" }, duration(one.share * stepMs)))),
  );
}

export function swatch(kind: string): HTMLElement {
  return h("i", { class: `swatch k-${kind}`, "aria-hidden": "true" });
}

/** A share as a small bar beside its words. */
export function meter(share: number, kind = "accent"): HTMLElement {
  return h("span", { class: "meter" }, h("span", { class: "meter-words" }, share > 0 && share < SHOWN ? "<0.1%" : percent(share)), h("span", { class: "meter-track", "aria-hidden": "true" }, h("span", { class: `k-${kind}`, css: { width: `${Math.min(share, 1) * 100}%` } })));
}
