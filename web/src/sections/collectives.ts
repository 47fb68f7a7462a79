/** Communication between devices: size against bandwidth, and how much of it nothing hides. */
import { texts } from "../data/read.js";
import { h } from "../dom.js";
import { meter, swatch } from "../parts/bar.js";
import { axisStyle, chart, tooltip, type Option } from "../parts/chart.js";
import { section, type Section, type View } from "../parts/section.js";
import type { Palette } from "../parts/theme.js";
import { virtualTable } from "../parts/virtual_table.js";
import { count, duration, inWords, percent, size } from "../words.js";

/** null when the run has one device or never communicates. */
export function collectives(view: View): Section | null {
  const columns = view.run.collectives;
  const rows = columns.exposed.length;
  if (rows === 0) return null;
  const [name, kind] = [texts(columns.name), texts(columns.kind)];
  const number = (column: (number | null)[]) => (row: number): number | null => column[row] ?? null;
  const [bytes, bandwidth, wait] = [number(columns.bytes), number(columns.bus_gb_s), number(columns.wait_ms)];
  const [median, perStep, exposed] = [number(columns.median_ms), number(columns.ms_per_step), number(columns.exposed)];
  const known = Array.from({ length: rows }, (_, row) => row).filter((row) => (bytes(row) ?? 0) > 0 && (bandwidth(row) ?? 0) > 0);
  const words = (value: number | null, say: (value: number) => string): string => (value === null ? "–" : say(value));

  const drawn = known.length === 0 ? null : chart({
    label: "Size of each collective against its bus bandwidth; the table below holds the same numbers",
    height: 256,
    signal: view.signal,
    option: (colours) => scatter(known, colours, {
      point: (row) => [bytes(row)!, bandwidth(row)!],
      weight: (row) => perStep(row) ?? 0,
      words: (row) => [(name[row] ?? "").slice(0, 80).replace(/[{}|]/g, " "), `${kind[row]}, ${words(bytes(row), size)}`, `${words(bandwidth(row), (one) => inWords(one, "GB/s"))} on the bus`, `${words(median(row), duration)} each, ${words(exposed(row), percent)} exposed`].join("\n"),
    }),
  });
  const table = virtualTable({
    label: "Collectives",
    rows,
    sortBy: "step",
    height: 352,
    signal: view.signal,
    columns: [
      { id: "name", title: "Collective", width: "minmax(120px, 3fr)", value: (row) => name[row] ?? "", cell: (row) => h("span", { title: (name[row] ?? "").slice(0, 400) }, swatch("collective"), (name[row] ?? "").slice(0, 160)) },
      { id: "kind", title: "Kind", width: "112px", from: 900, value: (row) => kind[row] ?? null, cell: (row) => kind[row] ?? "" },
      { id: "bytes", title: "Size", width: "80px", number: true, from: 480, value: bytes, cell: (row) => words(bytes(row), size) },
      { id: "group", title: "Devices", width: "72px", number: true, from: 1060, value: number(columns.group), cell: (row) => words(number(columns.group)(row), count) },
      { id: "times", title: "Times", about: "Calls per step and device", width: "64px", number: true, from: 980, value: number(columns.count_per_step), cell: (row) => words(number(columns.count_per_step)(row), count) },
      { id: "each", title: "Each", about: "Median length, waiting included", width: "80px", number: true, from: 560, value: median, cell: (row) => words(median(row), duration) },
      { id: "wait", title: "Waiting", about: "Time per call until the last device arrives", width: "80px", number: true, from: 680, value: wait, cell: (row) => words(wait(row), duration) },
      { id: "step", title: "Per step", about: "Time per step and device", width: "80px", number: true, value: perStep, cell: (row) => words(perStep(row), duration) },
      { id: "bus", title: "Bus", about: "Bytes that a ring sends over the median time without waiting", width: "96px", number: true, from: 780, value: bandwidth, cell: (row) => words(bandwidth(row), (one) => inWords(one, "GB/s")) },
      { id: "exposed", title: "Exposed", about: "Share of its time that no computation hides", width: "104px", number: true, from: 400, value: exposed, cell: (row) => meter(exposed(row) ?? 0, "collective") },
    ],
  });
  const share = view.run.report.metrics["exposed_collective_fraction"]?.value;
  return section(
    "collectives",
    "Collectives",
    count(rows),
    h("p", null, typeof share === "number" ? `${percent(share)} of a step is communication that no computation hides.` : "How much of the communication is exposed is not known."),
    drawn === null ? h("p", { class: "dim" }, "The trace does not say how large the messages are, so there is no bandwidth to draw. A trace with HLO would.") : drawn.element,
    table.element,
  );
}

interface Points {
  point: (row: number) => [number, number];
  weight: (row: number) => number;
  words: (row: number) => string;
}

/** One circle a collective; its area is its time a step. */
function scatter(rows: number[], colours: Palette, { point, weight, words }: Points): Option {
  const most = Math.max(...rows.map(weight), 1e-12);
  const sizes = rows.map((row) => point(row)[0]);
  return {
    grid: { left: 64, right: 24, top: 32, bottom: 44 },
    tooltip: { ...tooltip(colours), trigger: "item", formatter: (found: { dataIndex: number }) => words(rows[found.dataIndex] ?? -1) },
    xAxis: { type: "log", logBase: 2, min: 2 ** (Math.floor(Math.log2(Math.min(...sizes))) - 1), max: 2 ** (Math.ceil(Math.log2(Math.max(...sizes))) + 1), name: "message size", nameLocation: "middle", nameGap: 28, ...axisStyle(colours), axisLabel: { ...axisLabel(colours), formatter: (value: number) => size(value) } },
    yAxis: { type: "value", name: "GB/s on the bus", min: 0, boundaryGap: [0, "25%"], ...axisStyle(colours) },
    series: [{ type: "scatter", itemStyle: { color: colours.kinds.collective, opacity: 0.75, borderColor: colours.surface }, data: rows.map((row) => ({ value: point(row), symbolSize: 8 + 32 * Math.sqrt(weight(row) / most) })) }],
  };
}

function axisLabel(colours: Palette): Record<string, unknown> {
  return { color: colours.dim, fontSize: 12, hideOverlap: true };
}
