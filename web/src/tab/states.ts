/** What stands in a run's place while it is read, when it cannot be read, and when there is none. */
import { h, replaceChildren } from "../dom.js";
import { percent } from "../words.js";
import { Unreadable } from "./server.js";

/** Only a reading that takes longer than this is spoken of. */
const QUIET_MS = 150;

export function reading(name: string): { element: HTMLElement; update: (fraction: number | null) => void } {
  const words = h("p", { role: "status" });
  const bar = h("progress", { max: 1, "aria-label": `Reading ${name}` });
  const element = h("section", { class: "state", "aria-busy": "true", hidden: true }, words, bar);
  setTimeout(() => { element.hidden = false; }, QUIET_MS);
  const update = (fraction: number | null): void => {
    replaceChildren(words, fraction === null ? "Waiting until other runs are read." : fraction < 1 ? `Reading the trace: ${percent(fraction)}` : "Analysing the trace.");
    if (fraction === null) bar.removeAttribute("value");
    else bar.value = fraction;
  };
  update(0);
  return { element, update };
}

export function failed(error: unknown, tryAgain: () => void): HTMLElement {
  const told = error instanceof Unreadable ? error : new Unreadable("This page", `broke: ${error instanceof Error ? error.message : String(error)}`, "Please report it.");
  return h("section", { class: "state", "aria-labelledby": "failed-title" },
    h("h2", { id: "failed-title" }, "This run cannot be shown"),
    h("div", { class: "caveat", role: "alert" }, h("p", null, h("code", null, told.place), ` ${told.cause_}`), told.remedy === "" ? null : h("p", null, told.remedy)),
    h("p", null, h("button", { type: "button", on: { click: tryAgain } }, "Try again")));
}

export function nothingYet(): HTMLElement {
  return h("section", { class: "state", "aria-labelledby": "nothing-title" },
    h("h2", { id: "nothing-title" }, "No run in this logdir yet"),
    h("p", null, "A run is what the profiler of TensorFlow or JAX writes: ", h("code", null, "plugins/profile/RUN/HOST.xplane.pb"), ". Record one, and it appears here automatically:"),
    h("div", { class: "snippet" }, h("pre", { tabindex: 0, role: "group", "aria-label": "How to record, as code" }, h("code", null, "tf.keras.callbacks.TensorBoard(logdir, profile_batch=(10, 20))   # TensorFlow, Keras\ntf.profiler.experimental.start(logdir)                           # TensorFlow\njax.profiler.start_trace(logdir)                                 # JAX"))));
}
