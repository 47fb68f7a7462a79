/** What the devices compute: by layer, op type, source line, program and op, as table and as flame graph; and against their peaks. */
import { KEYS, TREES, grouped, readParts, tree, wasted, type Group, type Key, type Part, type Peaks } from "../data/parts.js";
import { h, replaceChildren } from "../dom.js";
import { meter } from "../parts/bar.js";
import { flame } from "../parts/flame.js";
import { ending, middle } from "../parts/middle.js";
import { roofline } from "../parts/roofline.js";
import { asTable, empty, labelled, section, select, smallTable, type Section, type View } from "../parts/section.js";
import { virtualTable } from "../parts/virtual_table.js";
import { count, duration, percent } from "../words.js";

const WORDS: Record<Key, string> = { layer: "Layer", op_type: "Op type", line: "Source line", module: "Program", name: "Op" };
const NOT_PLACED: Record<Key, string> = { layer: "outside of any layer", op_type: "the trace names no type", line: "no line in the trace", module: "of no program", name: "shorter ops" };
const TREE_WORDS: Record<string, string> = { layers: "layers", stacks: "lines of the program", programs: "programs" };
const MOST_INSIDE = 12;

export function computeParts(view: View): Section {
  const parts = readParts(view.run);
  if (parts.length === 0) return section("parts", "Compute by layer and line", "", empty("Nothing computes in a counted step."));
  const { peaks: stated } = view.run;
  const peaks: Peaks = { flops: stated.flops, bytes: stated.bytes_per_s };
  const useful = KEYS.filter((key) => parts.some((one) => one[key] !== ""));
  let key = useful[0] ?? "name";
  const trees = TREES.map((one) => ({ way: one, below: tree(parts, one, peaks).below.length }));
  let way = trees.find((one) => one.below > 1)?.way ?? TREES[0]!;
  const table = h("div");
  const picture = h("div");
  const roof = h("div");
  let shown = new AbortController();
  view.signal.addEventListener("abort", () => { shown.abort(); });

  const draw = (): void => {
    shown.abort();
    shown = new AbortController();
    replaceChildren(table, groupTable(grouped(parts, key, peaks), key, peaks, shown.signal));
    replaceChildren(picture, flame(tree(parts, way, peaks), `Compute time by ${TREE_WORDS[way] ?? way}`));
    const drawn = roofline(parts, peaks, shown.signal);
    replaceChildren(roof, drawn ?? h("p", { class: "dim" }, roofReason(parts, peaks)), drawn === null ? null : asTable("Roofline as a table", () => roofTable(parts, peaks)));
  };
  const made = section(
    "parts",
    "Compute by layer and line",
    "",
    h("div", { class: "toolbar" }, labelled("By", select(useful.map((one) => WORDS[one]), 0, (place) => { key = useful[place] ?? key; draw(); }))),
    table,
    folding("Flame graph and roofline", () => h("div", null,
      h("h3", null, "Flame graph"),
      h("div", { class: "toolbar" }, labelled("Tree of", select(TREES.map((one) => TREE_WORDS[one] ?? one), TREES.indexOf(way), (place) => { way = TREES[place] ?? way; draw(); })), h("span", { class: "dim small" }, "The wider, the longer; colours only tell levels apart. Hatched: time beyond what the device's peaks allow. Double click or Enter shows only what is below.")),
      picture,
      h("h3", null, "Roofline"),
      h("div", { class: "toolbar" }, peak("Peak, TFLOP/s", 1e12, stated.flops, (value) => { peaks.flops = value; draw(); }), peak("Memory, GB/s", 1e9, stated.bytes_per_s, (value) => { peaks.bytes = value; draw(); }),
      h("span", { class: "dim small" }, stated.flops === null ? `The trace states no peaks of ${stated.device || "its devices"}: type them in to see what is wasted.` : `Of ${stated.device}, 16-bit matrix arithmetic.`)),
      roof)),
  );
  draw();
  return made;
}

function folding(about: string, make: () => HTMLElement): HTMLElement {
  const made = asTable(about, make);
  made.classList.add("folded");
  return made;
}

function peak(name: string, unit: number, value: number | null, use: (value: number | null) => void): HTMLElement {
  const input = h("input", { type: "number", min: 0, step: "any", value: value === null ? "" : Number((value / unit).toPrecision(4)), class: "peak" });
  input.addEventListener("change", () => { use(input.value === "" || Number(input.value) <= 0 ? null : Number(input.value) * unit); });
  return labelled(name, input);
}

function roofReason(parts: Part[], peaks: Peaks): string {
  if (!parts.some((one) => one.flops !== null)) return "The trace carries no HLO, so the arithmetic of its ops is not known. JAX and TensorFlow with jit_compile=True record it.";
  return peaks.flops === null || peaks.bytes === null ? "A roofline needs both peaks." : "No op computes in floating point.";
}

function groupTable(groups: Group[], key: Key, peaks: Peaks, signal: AbortSignal): HTMLElement {
  const total = groups.reduce((sum, one) => sum + one.ms, 0);
  const name = (row: number): string => groups[row]!.name || NOT_PLACED[key];
  const inside = h("div", { class: "panel", hidden: true, "aria-live": "polite" });
  const open = (row: number): void => {
    const group = groups[row]!;
    inside.hidden = false;
    const largest = [...group.parts].sort((a, b) => b.ms - a.ms).slice(0, MOST_INSIDE);
    replaceChildren(inside, h("p", { class: "event-name" }, h("code", null, name(row))),
      smallTable(`Ops of ${name(row).slice(0, 60)}`, [{ title: "Op" }, { title: "Type" }, { title: "Line" }, { title: "Per step", number: true }, { title: "Times", number: true }, { title: "Wasted", number: true }],
        largest.map((one) => [h("code", null, one.name || NOT_PLACED.name), one.op_type || "–", one.line || "–", duration(one.ms), count(Math.round(one.count * 10) / 10), wastedWords(wasted(one, peaks))])));
  };
  const table = virtualTable({
    label: `Compute by ${WORDS[key].toLowerCase()}`,
    rows: groups.length,
    sortBy: "time",
    height: 352,
    signal,
    onChoose: open,
    columns: [
      { id: "name", title: WORDS[key], width: "minmax(120px, 4fr)", value: name, cell: (row) => (name(row).includes("/") ? ending(name(row)) : middle(name(row))) },
      { id: "share", title: "Share", about: "Of the compute time of all devices", width: "112px", number: true, from: 420, below: (row) => percent(groups[row]!.ms / total), value: (row) => groups[row]!.ms / total, cell: (row) => meter(groups[row]!.ms / total, "compute") },
      { id: "time", title: "Per step", about: "Time per step and device", width: "88px", number: true, value: (row) => groups[row]!.ms, cell: (row) => duration(groups[row]!.ms) },
      { id: "ops", title: "Ops", about: "Distinct ones", width: "64px", number: true, from: 640, value: (row) => groups[row]!.parts.length, cell: (row) => count(groups[row]!.parts.length) },
      { id: "count", title: "Times", about: "Executions per step and device", width: "72px", number: true, from: 560, value: (row) => groups[row]!.count, cell: (row) => count(Math.round(groups[row]!.count * 10) / 10) },
      { id: "wasted", title: "Wasted", about: "Beyond the least time that arithmetic and memory traffic take at the device's peaks", width: "96px", number: true, from: 480, value: (row) => groups[row]!.wasted, cell: (row) => wastedWords(groups[row]!.wasted) },
    ],
  });
  return h("div", null, table.element, inside);
}

function wastedWords(value: number | null): string {
  return value === null ? "–" : duration(value);
}

function roofTable(parts: Part[], peaks: Peaks): HTMLElement {
  const rows = parts.filter((one) => (one.flops ?? 0) > 0 && (one.bytes ?? 0) > 0).slice(0, 60);
  return smallTable("Roofline", [{ title: "Op" }, { title: "Operations per byte", number: true }, { title: "GFLOP/s", number: true }, { title: "Per step", number: true }, { title: "Of the roof", number: true }],
    rows.map((one) => [h("code", null, one.name), (one.flops! / one.bytes!).toPrecision(3), (one.flops! / (one.ms / 1e3) / 1e9).toPrecision(3), duration(one.ms), percent(1 - (wasted(one, peaks) ?? 0) / one.ms)]));
}
