/** How evenly devices and hosts share the work, and who waits for whom. */
import { CLASSES } from "../data/classes.js";
import type { DeviceRow } from "../data/generated.js";
import { h } from "../dom.js";
import { meter } from "../parts/bar.js";
import { axisStyle, chart, tooltip, type Option } from "../parts/chart.js";
import { empty, section, type Section, type View } from "../parts/section.js";
import { THEME_CHANGED, palette, type Palette } from "../parts/theme.js";
import { virtualTable } from "../parts/virtual_table.js";
import { count, duration, inWords, plural } from "../words.js";

const MOST_BARS = 64;
const CELL = 14;

export function devices(view: View): Section {
  const { devices: rows, report } = view.run;
  const hosts = report.run.hosts.length;
  const note = String(rows.length);
  if (rows.length === 0) return section("devices", "Devices and hosts", "", empty("No device computes anything in this trace."));
  const several = rows.length > 1;
  const shown = rows.slice(0, MOST_BARS);
  const title = (row: DeviceRow): string => (hosts > 1 ? `${row.host} ${row.name}` : row.name);
  const bars = several ? chart({
    label: "A mean step of each device by class; the table below holds the same numbers",
    height: 56 + shown.length * 24,
    signal: view.signal,
    option: (colours, width) => stacked(shown, title, colours, width),
  }) : null;
  const skew = ([["device_skew_fraction", "Devices compute unevenly by"], ["host_skew_fraction", "Waiting for the late host"]] as const).map(([name, words]) => [name, words, report.metrics[name]?.value] as const).filter(([, , value]) => typeof value === "number");
  return section(
    "devices",
    "Devices and hosts",
    note,
    skew.length > 0 ? h("p", null, ...skew.map(([name, words_, value]) => h("span", { title: report.metrics[name]?.about, class: "fact" }, `${words_} `, h("strong", null, inWords(value!, "fraction"))))) : null,
    bars?.element ?? null,
    rows.length > MOST_BARS ? h("p", { class: "dim small" }, `The first ${MOST_BARS} appear here; the table holds all.`) : null,
    several ? heatmap(shown, title, view.signal) : null,
    table(rows, hosts > 1, view.signal),
  );
}

function stacked(rows: DeviceRow[], title: (row: DeviceRow) => string, colours: Palette, width: number): Option {
  const used = CLASSES.filter((kind) => rows.some((row) => (row.class_ms[kind] ?? 0) > 0));
  return {
    grid: { left: Math.min(160, width * 0.3), right: 24, top: 8, bottom: 40 },
    tooltip: { ...tooltip(colours), trigger: "axis", axisPointer: { type: "shadow" }, formatter: (found: { dataIndex: number }[]) => {
      const row = rows[found[0]?.dataIndex ?? -1];
      return row === undefined ? "" : [title(row).replace(/[{}|]/g, " "), ...used.map((kind) => `${kind}  ${duration(row.class_ms[kind] ?? 0)}`)].join("\n");
    } },
    xAxis: { type: "value", name: "ms per step", nameLocation: "middle", nameGap: 24, ...axisStyle(colours) },
    yAxis: { type: "category", inverse: true, data: rows.map(title), ...axisStyle(colours), axisTick: { show: false }, axisLabel: { color: colours.dim, fontSize: 12, width: Math.min(148, width * 0.28), overflow: "truncate" } },
    series: used.map((kind) => ({ type: "bar", name: kind, stack: "device", barMaxWidth: 16, itemStyle: { color: colours.kinds[kind] }, emphasis: { disabled: true }, data: rows.map((row) => row.class_ms[kind] ?? 0) })),
  };
}

/** Compute of each device in each step, the stronger the colour the longer: a slow device is a row, a slow step a column. */
function heatmap(rows: DeviceRow[], title: (row: DeviceRow) => string, signal: AbortSignal): HTMLElement | null {
  const steps = Math.max(...rows.map((row) => row.compute_ms.length));
  const values = rows.flatMap((row) => row.compute_ms);
  if (steps < 2 || values.length === 0) return null;
  const [least, most] = values.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [Infinity, 0]);
  const canvas = h("canvas", { role: "img", class: "heatmap", "aria-label": `Compute of each device in each step, from ${duration(least)} to ${duration(most)}` });
  const paint = (): void => {
    const width = canvas.clientWidth;
    if (width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(rows.length * CELL * ratio);
    const context = canvas.getContext("2d");
    if (context === null) return;
    context.scale(ratio, ratio);
    context.fillStyle = palette().kinds.compute;
    rows.forEach((row, place) => {
      const cell = width / Math.max(row.compute_ms.length, 1);
      row.compute_ms.forEach((one, step) => {
        context.globalAlpha = most > least ? 0.12 + (0.88 * (one - least)) / (most - least) : 0.5;
        context.fillRect(step * cell, place * CELL, Math.max(cell - (cell > 4 ? 1 : 0), 0.5), CELL - 1);
      });
    });
  };
  canvas.style.height = `${rows.length * CELL}px`;
  const sized = new ResizeObserver(paint);
  sized.observe(canvas);
  document.addEventListener(THEME_CHANGED, paint, { signal });
  signal.addEventListener("abort", () => { sized.disconnect(); });
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const row = rows[Math.floor((event.clientY - box.top) / CELL)];
    const place = row === undefined ? -1 : Math.floor(((event.clientX - box.left) / box.width) * row.compute_ms.length);
    canvas.title = row?.compute_ms[place] === undefined ? "" : `${title(row)}, step ${row.step[place] ?? place}: ${duration(row.compute_ms[place])} of compute`;
  });
  return h("figure", null, canvas, h("figcaption", { class: "dim small" }, `Compute of each device (a row, from the top as above) in each step (a column, the first at the left): the stronger the colour, the longer, ${duration(least)} to ${duration(most)}. ${plural(steps, "step")}${(rows[0]?.steps ?? 0) > steps ? ", every nth step" : ""}.`));
}

function table(rows: DeviceRow[], hosts: boolean, signal: AbortSignal): HTMLElement {
  const compute = (row: number): number => rows[row]!.class_ms["compute"] ?? 0;
  const most = Math.max(...rows.map((_, row) => compute(row)), 1e-12);
  const words = (value: number | null): string => (value === null ? "–" : duration(value));
  return virtualTable({
    label: "Devices",
    rows: rows.length,
    sortBy: "place",
    ascending: true,
    height: 352,
    signal,
    columns: [
      { id: "place", title: "Device", width: "minmax(88px, 1fr)", value: (row) => row, cell: (row) => rows[row]!.name },
      ...(hosts ? [{ id: "host", title: "Host", width: "minmax(72px, 1fr)", value: (row: number) => rows[row]!.host, cell: (row: number) => rows[row]!.host }] : []),
      { id: "model", title: "Model", width: "minmax(80px, 1fr)", from: 860, value: (row) => rows[row]!.model || rows[row]!.kind, cell: (row) => rows[row]!.model || rows[row]!.kind.toUpperCase() },
      { id: "compute", title: "Compute", about: "Mean per step", width: "96px", number: true, value: compute, cell: (row) => duration(compute(row)) },
      { id: "busiest", title: "Of busiest", about: "Compute over that of the device that computes most", width: "112px", number: true, from: 540, value: compute, cell: (row) => meter(compute(row) / most, "compute") },
      { id: "longest", title: "Longest", about: "Compute in its longest step", width: "96px", number: true, from: 760, value: (row) => Math.max(...rows[row]!.compute_ms, 0), cell: (row) => duration(Math.max(...rows[row]!.compute_ms, 0)) },
      { id: "wait", title: "Waits", about: "Per step, in collectives, for the last device to arrive", width: "88px", number: true, from: 440, value: (row) => rows[row]!.wait_ms, cell: (row) => words(rows[row]!.wait_ms) },
      { id: "last", title: "Arrives last", about: "Share of the collectives in which it arrives last", width: "112px", number: true, from: 640, value: (row) => rows[row]!.last_share, cell: (row) => (rows[row]!.last_share === null ? "–" : meter(rows[row]!.last_share, "input")) },
      { id: "steps", title: "Steps", width: "72px", number: true, from: 940, value: (row) => rows[row]!.steps, cell: (row) => count(rows[row]!.steps) },
    ],
  }).element;
}
