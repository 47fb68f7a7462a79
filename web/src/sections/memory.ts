/** Device memory: what the allocators have given out over time, and what lives at the peak, by op and by the compiler's plan. */
import type { MemoryInfo, ProgramMemoryInfo } from "../data/generated.js";
import { h } from "../dom.js";
import { axisStyle, chart, tooltip } from "../parts/chart.js";
import { middle } from "../parts/middle.js";
import { asTable, empty, section, smallTable, type Section, type View } from "../parts/section.js";
import { virtualTable } from "../parts/virtual_table.js";
import { duration, percent, plural, size } from "../words.js";

const MOST_PROGRAMS = 4;
const MANY: Record<string, string> = { argument: "arguments", output: "outputs", constant: "constants", temporary: "temporaries" };
const COLOURS: Record<string, string> = { argument: "launch", output: "compute", constant: "host", temporary: "input", "host memory": "idle" };

export function memory(view: View): Section {
  const { memory: curves, programs } = view.run;
  return section(
    "memory",
    "Memory",
    "",
    curves.length + programs.length === 0 ? empty("This trace tells nothing of device memory: no allocator left events, and no program carries its buffer assignment.") : null,
    ...curves.map((one) => allocator(one, view)),
    ...programs.slice(0, MOST_PROGRAMS).map((one) => program(one, view.signal)),
    programs.length > MOST_PROGRAMS ? h("p", { class: "dim small" }, `${plural(programs.length - MOST_PROGRAMS, "smaller program")} left out.`) : null,
  );
}

function allocator(found: MemoryInfo, { run, signal }: View): HTMLElement {
  const title = run.report.run.hosts.length > 1 ? `${found.host} ${found.allocator}` : found.allocator;
  const { live } = found;
  const listed = live.reduce((sum, one) => sum + one.bytes, 0);
  return h("div", { class: "memory" },
    h("h3", null, title),
    h("p", null, `At most ${size(found.peak_bytes)} of ${size(found.capacity_bytes)} (${percent(found.peak_bytes / Math.max(found.capacity_bytes, 1))}) at ${duration(found.peak_ms)}`, found.highest_bytes > found.peak_bytes ? `; ${size(found.highest_bytes)} (${percent(found.highest_bytes / Math.max(found.capacity_bytes, 1))}) before this trace, while the program started.` : "."),
    chart({
      label: `Memory of ${title} over time; the most is ${size(found.peak_bytes)} at ${duration(found.peak_ms)}`,
      height: 200,
      signal,
      option: (colours) => ({
        grid: { left: 72, right: 24, top: 16, bottom: 40 },
        tooltip: { ...tooltip(colours), trigger: "axis", formatter: (points: { dataIndex: number }[]) => {
          const place = points[0]?.dataIndex ?? 0;
          return `${duration(found.at_ms[place] ?? 0)}\n${size(found.bytes[place] ?? 0)}`;
        } },
        xAxis: { type: "value", name: "ms", min: found.at_ms[0], max: found.at_ms.at(-1), nameLocation: "middle", nameGap: 24, ...axisStyle(colours), axisLabel: { color: colours.dim, fontSize: 12, hideOverlap: true, showMinLabel: false, showMaxLabel: false } },
        yAxis: { type: "value", interval: binaryStep(Math.max(...found.bytes)), max: topLine(Math.max(...found.bytes)), ...axisStyle(colours), axisLabel: { color: colours.dim, fontSize: 12, formatter: (value: number) => size(value) } },
        series: [{ type: "line", step: "end", symbol: "none", areaStyle: { color: colours.kinds.launch, opacity: 0.25 }, lineStyle: { color: colours.kinds.launch }, data: found.at_ms.map((at, place) => [at, found.bytes[place] ?? 0]) }],
      }),
    }).element,
    live.length === 0 ? h("p", { class: "dim" }, "Which ops hold it is not in the trace.") : h("div", null,
      h("p", { class: "small" }, `At the peak: ${size(listed)} held by ${plural(live.length, "block")} below${found.unseen_bytes > 0 ? `, ${size(found.unseen_bytes)} taken before the trace (variables) or in smaller blocks` : ""}.`),
      virtualTable({
        label: `What lives at the peak of ${title}`,
        rows: live.length,
        sortBy: "bytes",
        height: 320,
        signal,
        columns: [
          { id: "op", title: "Op", width: "minmax(120px, 4fr)", value: (row) => live[row]!.op || "not named", cell: (row) => middle(live[row]!.op || "not named") },
          { id: "bytes", title: "Size", width: "96px", number: true, value: (row) => live[row]!.bytes, cell: (row) => size(live[row]!.bytes) },
          { id: "region", title: "For", width: "112px", from: 560, value: (row) => live[row]!.region || null, cell: (row) => live[row]!.region || "–" },
          { id: "shape", title: "Shape", width: "minmax(88px, 1fr)", from: 640, value: (row) => live[row]!.shape || null, cell: (row) => live[row]!.shape || "–" },
          { id: "since", title: "Taken at", width: "88px", number: true, from: 760, value: (row) => live[row]!.since_ms, cell: (row) => duration(live[row]!.since_ms) },
        ],
      }).element));
}

/** Between lines of an axis of bytes: a power of two, so that labels are whole; four to eight of them up to the most. */
export function binaryStep(most: number): number {
  return 2 ** Math.max(Math.ceil(Math.log2(Math.max(most, 1))) - 3, 0);
}

/** Where the axis ends: on a line, so that all lines are equally far apart. */
export function topLine(most: number): number {
  const step = binaryStep(most);
  return step * Math.max(Math.ceil(most / step), 1);
}

function program(found: ProgramMemoryInfo, signal: AbortSignal): HTMLElement {
  const { buffers } = found;
  const kinds = Object.entries(found.bytes_of).filter(([, bytes]) => bytes > 0);
  const inTurn = kinds.map(([kind, bytes]) => `${kind === "host memory" ? "beside it in the host's memory" : (MANY[kind] ?? kind)} ${size(bytes)}`).join(", ");
  const largest = buffers.find((one) => one.kind === "temporary");
  return h("div", { class: "memory" },
    h("h3", null, `Program ${found.program}`),
    h("p", null, `Needs ${size(found.bytes)} on each device by the compiler's plan: ${inTurn}.`),
    h("div", { class: "bar", role: "img", "aria-label": inTurn }, ...kinds.map(([kind, bytes]) => h("span", { class: `k-${COLOURS[kind] ?? "idle"}`, title: `${kind}: ${size(bytes)}`, css: { "flex-grow": String(bytes) } }, h("b", null, kind)))),
    largest === undefined ? null : h("p", { class: "small" }, "If it does not fit: the largest temporary is ", h("code", null, largest.name), `, ${size(largest.bytes)}${largest.line === "" ? "" : `, made at ${largest.line}`}. Rematerialise it (jax.checkpoint, tf.recompute_grad), split the batch, or hold it in 16 bits; donate arguments that the step replaces.`),
    virtualTable({
      label: `Buffers of ${found.program} at its peak`,
      rows: buffers.length,
      sortBy: "bytes",
      height: 320,
      signal,
      columns: [
        { id: "name", title: "Buffer", width: "minmax(120px, 3fr)", value: (row) => named(found, row), cell: (row) => middle(named(found, row)) },
        { id: "bytes", title: "Size", width: "96px", number: true, value: (row) => buffers[row]!.bytes, cell: (row) => size(buffers[row]!.bytes) },
        { id: "kind", title: "Kind", width: "104px", from: 480, value: (row) => buffers[row]!.kind, cell: (row) => buffers[row]!.kind },
        { id: "shape", title: "Shape", width: "minmax(96px, 1fr)", from: 640, value: (row) => buffers[row]!.shape || null, cell: (row) => buffers[row]!.shape || "–" },
        { id: "line", title: "Line", width: "minmax(144px, 1fr)", from: 560, below: (row) => buffers[row]!.line, value: (row) => buffers[row]!.line || null, cell: (row) => (buffers[row]!.line === "" ? "–" : middle(buffers[row]!.line)) },
        { id: "path", title: "From", width: "minmax(96px, 2fr)", from: 900, value: (row) => buffers[row]!.op_name || null, cell: (row) => (buffers[row]!.op_name === "" ? "–" : middle(buffers[row]!.op_name)) },
      ],
    }).element,
    found.left_out > 0 ? h("p", { class: "dim small" }, `${plural(found.left_out, "smaller buffer")} left out.`) : null,
    asTable("By kind, as a table", () => smallTable(`Memory of ${found.program}`, [{ title: "Kind" }, { title: "Size", number: true }], kinds.map(([kind, bytes]) => [kind, size(bytes)]))));
}

/** An argument by its own name, anything else by its instruction's. */
function named(found: ProgramMemoryInfo, row: number): string {
  const one = found.buffers[row]!;
  return (one.kind === "argument" && one.op_name !== "" ? one.op_name : one.name) || "not named";
}
