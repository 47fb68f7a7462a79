/** A long name cut in its middle, since most names differ at their ends; the whole one is its tooltip. */
import { h } from "../dom.js";

const SHORT = 24;
const TAIL = 14;
const LONGEST = 400;

export function middle(name: string): HTMLElement {
  const text = name.slice(0, LONGEST);
  if (text.length <= SHORT) return h("span", { title: text }, text);
  return h("span", { class: "middle", title: text }, h("span", null, text.slice(0, -TAIL)), h("span", null, text.slice(-TAIL)));
}
