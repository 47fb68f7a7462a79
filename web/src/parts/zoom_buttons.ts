import { h } from "../dom.js";
import type { Zoom } from "./zoom.js";

/** The same as the keys, for a pointer. */
export function zoomButtons(zoom: () => Zoom, redraw: () => void): HTMLElement {
  const button = (words: string, about: string, act: (zoom: Zoom) => void): HTMLElement =>
    h("button", { type: "button", "aria-label": about, title: about, on: { click: () => { act(zoom()); redraw(); } } }, words);
  return h(
    "div",
    { class: "buttons", role: "group", "aria-label": "Zoom" },
    button("−", "Zoom out (−)", (one) => { one.by(1 / 1.5); }),
    button("+", "Zoom in (+)", (one) => { one.by(1.5); }),
    button("◀", "Earlier (a)", (one) => { one.pan(-0.25); }),
    button("▶", "Later (d)", (one) => { one.pan(0.25); }),
    button("All", "All (0)", (one) => { one.reset(); }),
  );
}
