/** Where the run goes: a bar whose parts are the steps and what is no step, with the same in words. */
import type { RunAccount, RunPart, RunPlace } from "../data/generated.js";
import { h, withCode } from "../dom.js";
import { duration, percent } from "../words.js";

const IN_WORDS = 0.08;

/** Of the steps, that a statement takes to be shown, and how many are. */
const [LEAST, MOST] = [0.05, 4];

/** Kinds of parts by the class of time whose colour they have. */
const COLOURS: Record<string, string> = { steps: "compute", input: "input", compile: "compile", saving: "transfer", evaluation: "collective", logging: "host", imports: "launch" };

/** Nothing for a plain trace. */
export function runBar(account: RunAccount | null, absent: string | null): HTMLElement[] {
  if (account === null) return absent === null ? [] : [h("p", { class: "dim small" }, ...withCode(`Where the run goes is not known: ${absent}.`))];
  const words = account.parts.map((one) => `${one.what} ${percent(one.fraction)}`).join(", ");
  return [
    h("h3", null, `Where the ${duration(1000 * account.seconds)} since the ${account.since} go`),
    h("div", { class: "bar", role: "img", "aria-label": words },
      ...account.parts.map((one) => h("span", { class: `k-${colour(one)}`, title: title(one), css: { "flex-grow": String(one.fraction) } }, one.fraction < IN_WORDS ? null : h("b", null, `${one.what} ${percent(one.fraction)}`)))),
    h("ul", { class: "legend" }, ...account.parts.map((one) => h("li", { title: title(one) }, h("i", { class: `swatch k-${colour(one)}`, "aria-hidden": "true" }), h("span", null, one.what), h("strong", null, percent(one.fraction)), h("span", { class: "dim" }, beside(one))))),
    statements(account),
    before(account),
  ].filter((one) => one !== null);
}

/** The lines of the loop, where several take the steps' time. */
function statements({ parts: [steps] }: RunAccount): HTMLElement | null {
  const worth = (steps?.statements ?? []).filter((one) => one.fraction >= LEAST * (steps?.fraction ?? 1) && one.places.length > 0);
  if (worth.length < 2) return null;
  return h("ul", { class: "statements" }, ...worth.slice(0, MOST).map((one) => {
    const [{ file, line, text }] = one.places as [RunPlace];
    return h("li", null, h("strong", null, percent(one.fraction)), h("span", { class: "dim" }, `${file}:${line}${one.what === "waiting for the devices" ? ` ${one.what}` : ""}`), text === "" ? null : h("code", null, text));
  }));
}

function before({ before: { seconds, parts } }: RunAccount): HTMLElement | null {
  if (parts.length === 0) return null;
  const words = parts.map((one) => `${one.what} ${duration(1000 * one.seconds)}`).join(", ");
  return h("p", { class: "dim small" }, `Before it ${duration(1000 * seconds)}: ${words}.`);
}

function colour(one: RunPart): string {
  return COLOURS[one.kind] ?? "idle";
}

/** `train.py:84, 4 × 1.2 s`. */
function beside(one: RunPart): string {
  const place = one.places[0];
  const where = place === undefined || one.kind === "steps" ? "" : `${place.file}:${place.line}`;
  const often = one.turns === null ? "" : `${one.turns} × ${duration((1000 * one.seconds) / one.turns)}`;
  return [where === one.what ? "" : where, often].filter((some) => some !== "").join(", ");
}

function title(one: RunPart): string {
  const inside = one.parts.map((part) => `${part.what} ${percent(part.fraction)}`).join(", ");
  return `${one.what}: ${duration(1000 * one.seconds)}, ${one.seen} samples${inside === "" ? "" : `; in it ${inside}`}`;
}
