/** A tree of times as a flame graph: the wider the longer, hatched is wasted. By pointer, and by the arrow keys. */
import type { TreeNode } from "../data/parts.js";
import { h, replaceChildren } from "../dom.js";
import { ending } from "./middle.js";
import { duration, percent } from "../words.js";

const ROW = 24;
const LEAST = 0.002;
const DEEPEST = 24;

interface Box {
  node: TreeNode;
  left: number;
  width: number;
  depth: number;
  up: Box | null;
}

/** label: what it is of. */
export function flame(root: TreeNode, label: string): HTMLElement {
  const words = h("p", { class: "small", "aria-live": "polite" });
  const canvas = h("div", { class: "flame", tabindex: 0, role: "application", "aria-label": `${label}. Arrows choose, Enter shows only what is below, Escape shows all. The table holds the same numbers.` });
  let shown = root;
  let boxes: Box[] = [];
  let chosen: Box | null = null;

  const say = (): void => {
    const node = chosen?.node ?? shown;
    words.textContent = `${node.name}: ${duration(node.ms)} per step, ${percent(node.ms / Math.max(root.ms, 1e-12))} of the compute time${node.wasted === null ? "" : `, ${duration(node.wasted)} wasted`}`;
  };
  const draw = (): void => {
    boxes = [];
    place(shown, 0, 1, 0, null, boxes);
    canvas.style.height = `${(Math.max(...boxes.map((one) => one.depth)) + 1) * ROW}px`;
    replaceChildren(canvas, ...boxes.map((box) => {
      const element = h("div", { class: `flame-box d${box.depth % 4}${box === chosen ? " chosen" : ""}`, title: `${box.node.name.slice(0, 300)}: ${duration(box.node.ms)}`, css: { left: `${box.left * 100}%`, width: `${box.width * 100}%`, top: `${box.depth * ROW}px` }, on: { click: () => { select(box); }, dblclick: () => { only(box.node); } } },
        box.node.wasted === null || box.node.wasted <= 0 ? null : h("span", { class: "flame-waste", css: { width: `${Math.min(box.node.wasted / Math.max(box.node.ms, 1e-12), 1) * 100}%` } }),
        box.width < 0.03 ? null : h("span", { class: "flame-name" }, ending(box.node.name)));
      return element;
    }));
  };
  const select = (box: Box | null): void => {
    chosen = box;
    [...canvas.children].forEach((element, at) => { element.classList.toggle("chosen", boxes[at] === box); });
    say();
  };
  const only = (node: TreeNode): void => {
    shown = node;
    chosen = null;
    draw();
    select(boxes[0] ?? null);
  };
  canvas.addEventListener("keydown", (event) => {
    const at = chosen ?? boxes[0] ?? null;
    if (at === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const beside = boxes.filter((one) => one.up === at.up && one.depth === at.depth);
    const next: Record<string, Box | undefined> = {
      ArrowDown: boxes.find((one) => one.up === at),
      ArrowUp: at.up ?? undefined,
      ArrowRight: beside[beside.indexOf(at) + 1],
      ArrowLeft: beside[beside.indexOf(at) - 1],
    };
    if (event.key === "Enter") only(at.node);
    else if (event.key === "Escape") only(root);
    else if (event.key in next) select(next[event.key] ?? at);
    else return;
    event.preventDefault();
  });
  draw();
  say();
  return h("div", null, words, canvas);
}

function place(node: TreeNode, left: number, width: number, depth: number, up: Box | null, into: Box[]): void {
  if (width < LEAST || depth > DEEPEST) return;
  const box: Box = { node, left, width, depth, up };
  into.push(box);
  let at = left;
  for (const below of node.below) {
    const share = node.ms > 0 ? (below.ms / node.ms) * width : 0;
    place(below, at, share, depth + 1, box, into);
    at += share;
  }
}
