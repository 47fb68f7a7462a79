/** An op's HLO as text, between what it reads and what reads it. */
import type { ExcerptRow } from "../data/generated.js";
import { h } from "../dom.js";
import { copyButton } from "./copy.js";
import { middle } from "./middle.js";

/** go: what leads to a neighbour's own row, null where it has none. */
export function hloText(found: ExcerptRow, go: (neighbour: string) => (() => void) | null): HTMLElement {
  const box = (text: string): HTMLElement => {
    const [name, opcode, shape] = text.split("\n");
    const act = go(name ?? "");
    const inside = [middle(name ?? ""), h("span", { class: "dim small" }, `${opcode ?? ""} ${shape ?? ""}`.slice(0, 120))];
    return h("li", null, act === null ? h("div", { class: "hlo-box" }, ...inside) : h("button", { type: "button", class: "hlo-box", on: { click: act } }, ...inside));
  };
  const column = (title: string, list: string[]): HTMLElement => h("div", null, h("p", { class: "dim small" }, title), list.length === 0 ? h("p", { class: "dim" }, "nothing") : h("ul", { class: "hlo-list" }, ...list.map(box)));
  return h("div", { class: "hlo" },
    h("h3", null, "HLO"),
    h("div", { class: "hlo-graph", role: "group", "aria-label": "Neighbours of the op" },
      column("Reads", found.operands), h("span", { class: "hlo-arrow", "aria-hidden": "true" }, "→"),
      h("div", null, h("p", { class: "dim small" }, "This op"), h("div", { class: "hlo-box this" }, middle(found.op === "" ? found.kernel : found.op))),
      h("span", { class: "hlo-arrow", "aria-hidden": "true" }, "→"), column("Read by", found.users)),
    found.more > 0 ? h("p", { class: "dim small" }, `${found.more} more neighbours.`) : null,
    h("div", { class: "snippet" }, h("pre", { tabindex: 0, role: "group", "aria-label": "HLO of the op" }, h("code", null, found.text)), copyButton(found.text, "HLO")));
}
