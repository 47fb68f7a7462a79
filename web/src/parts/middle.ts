/** A long name cut in its middle, since most names differ at their ends: `host_offl…test.py:29`. The whole one is its tooltip. */
import { h } from "../dom.js";

const LONGEST = 400;

/** short: up to so many characters a name is never cut. tail: so many at the end never are. */
export function middle(name: string, short = 24, tail = 14): HTMLElement {
  const text = name.slice(0, LONGEST);
  if (text.length <= short) return h("span", { title: text }, text);
  return h("span", { class: "middle", title: text }, h("span", null, text.slice(0, -tail)), h("span", null, text.slice(-tail)));
}

/** A path or a name in a narrow place, cut at its beginning: the last part tells it from its neighbours. */
export function ending(name: string): HTMLElement {
  const text = name.slice(0, LONGEST);
  return h("span", { class: "ending", title: text }, h("bdi", null, text));
}
