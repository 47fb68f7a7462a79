/** Every counted step as a bar of its classes, and one step's breakdown. */
import { CLASSES, MEANING } from "../data/classes.js";
import { StepTable, lateHost, longestOfEach } from "../data/steps.js";
import { h, replaceChildren } from "../dom.js";
import { bar, legend, parts, swatch } from "../parts/bar.js";
import { axisStyle, chart, tooltip, type Option } from "../parts/chart.js";
import { asTable, empty, labelled, section, select, smallTable, type Section, type View } from "../parts/section.js";
import type { Palette } from "../parts/theme.js";
import { virtualTable } from "../parts/virtual_table.js";
import { Zoom, zoomDrag, zoomKey, zoomWheel } from "../parts/zoom.js";
import { zoomButtons } from "../parts/zoom_buttons.js";
import { change, count, duration, percent, plural } from "../words.js";

const LEFT = 56;
const RIGHT = 16;
const BAR_PX = 3;
/** Room for the number of a step below its bar. */
const LABEL_PX = 40;
const LETTER_PX = 14;
/** From so many bars on a class is drawn as one shape. */
const MANY = 120;

export interface StepsSection extends Section {
  choose: (row: number) => void;
}

export function steps(view: View): StepsSection {
  const table = new StepTable(view.run);
  if (table.rows === 0) {
    return { ...section("steps", "Steps", "", empty("This trace holds no counted step.")), choose: () => undefined };
  }
  const late = view.run.report.verdict.bottleneck === "imbalance" ? lateHost(table, table.index(table.median(table.of(table.hosts[0]!)))) : "";
  const first = late || table.hosts[0]!;
  const state = { rows: table.of(first), chosen: -1 };
  let zoom = new Zoom(state.rows.length, Math.min(8, state.rows.length));
  let shown = { rows: state.rows, each: 1 };
  const note = h("p", { class: "dim small" });
  const panel = h("div", { class: "panel", "aria-live": "polite" });

  const drawing = chart({
    label: "Steps, each a bar of its classes; the table below holds the same numbers",
    height: 264,
    signal: view.signal,
    option: (colours, width) => {
      shown = longestOfEach(table, state.rows.slice(Math.floor(zoom.from), Math.ceil(zoom.to)), (width - LEFT - RIGHT) / BAR_PX);
      note.textContent = `${shown.each > 1 ? `Each bar is the longest of ${shown.each} steps. ` : ""}▲ marks the chosen step, M the median, W the worst.`;
      return option(table, shown.rows, state, colours, width);
    },
  });
  const frame = h("div", { class: "chart-frame", tabindex: 0, role: "group", "aria-label": "Steps. Left and right choose a step, + and − zoom, 0 shows all." }, drawing.element);

  const redraw = (): void => { drawing.redraw(); };
  const choose = (row: number): void => {
    if (row < 0) return;
    if (!state.rows.includes(row)) useHost(table.host(row));
    state.chosen = row;
    const place = state.rows.indexOf(row);
    zoom.reveal(place, place + 1);
    replaceChildren(panel, ...stepPanel(table, row, state.rows, view));
    redraw();
  };
  const useHost = (host: string): void => {
    state.rows = table.of(host);
    zoom = new Zoom(state.rows.length, Math.min(8, state.rows.length));
    hosts.selectedIndex = table.hosts.indexOf(host);
  };
  const hosts = select(table.hosts, table.hosts.indexOf(first), (index) => {
    useHost(table.hosts[index]!);
    choose(table.median(state.rows));
  });

  const pointedAt = (event: MouseEvent): number => {
    const box = drawing.element.getBoundingClientRect();
    const place = drawing.indexAt(event.clientX - box.left, event.clientY - box.top);
    return place === null ? -1 : (shown.rows[Math.min(Math.max(Math.round(place), 0), shown.rows.length - 1)] ?? -1);
  };
  const drag = zoomDrag(frame, () => zoom, () => frame.clientWidth - LEFT - RIGHT, redraw);
  frame.addEventListener("click", (event) => { if (!drag.moved()) choose(pointedAt(event)); });
  frame.addEventListener("wheel", (event) => {
    const share = (event.clientX - frame.getBoundingClientRect().left - LEFT) / (frame.clientWidth - LEFT - RIGHT);
    if (zoomWheel(zoom, event, zoom.from + share * zoom.width)) redraw();
  }, { passive: false });
  frame.addEventListener("keydown", (event) => {
    const place = state.rows.indexOf(state.chosen);
    const last = state.rows.length - 1;
    const next = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (next !== undefined) choose(state.rows[Math.min(Math.max(next, 0), last)] ?? -1);
    else if (zoomKey(zoom, event.key)) redraw();
    else return;
    event.preventDefault();
  });

  const made = section(
    "steps",
    "Steps",
    count(view.run.report.steps.count),
    h("div", { class: "toolbar" }, table.hosts.length > 1 ? labelled("Host", hosts) : null, zoomButtons(() => zoom, redraw), jumps(table, state, choose), note),
    frame,
    panel,
    asTable("Steps as a table", () => stepTable(table, choose, view.signal)),
    setAside(view),
  );
  choose(table.median(state.rows));
  return { ...made, choose };
}

function jumps(table: StepTable, state: { rows: number[] }, choose: (row: number) => void): HTMLElement {
  const jump = (words: string, row: () => number): HTMLElement => h("button", { type: "button", on: { click: () => { choose(row()); } } }, words);
  return h("div", { class: "buttons", role: "group", "aria-label": "Go to a step" }, jump("Median step", () => table.median(state.rows)), jump("Worst step", () => table.longest(state.rows)));
}

function option(table: StepTable, rows: number[], state: { rows: number[]; chosen: number }, colours: Palette, width: number): Option {
  const used = CLASSES.filter((kind) => rows.some((row) => table.share(row, kind) > 0));
  const every = Math.max(Math.ceil((rows.length * LABEL_PX) / Math.max(width - LEFT - RIGHT, 1)), 1);
  const marks = [[table.median(state.rows), "M"], [table.longest(state.rows), "W"]] as const;
  // A step that shares its bar with a longer one is marked above that bar.
  const place = (row: number): number => (row < rows[0]! && row !== state.chosen ? -1 : rows.findLastIndex((one) => one <= row));
  // Marks of one bar stand beside each other: with a single step all three are on it.
  const letters = new Map<number, string[]>();
  for (const [row, letter] of [...marks, [state.chosen, "▲"] as const]) {
    const bar = row < 0 ? -1 : place(row);
    if (bar >= 0) letters.set(bar, [...(letters.get(bar) ?? []), letter]);
  }
  return {
    grid: { left: LEFT, right: RIGHT, top: 24, bottom: 36 },
    tooltip: {
      ...tooltip(colours),
      trigger: "axis",
      axisPointer: { type: "shadow", shadowStyle: { color: colours.dim, opacity: 0.12 } },
      formatter: (found: { dataIndex: number }[]) => words(table, rows[found[0]?.dataIndex ?? -1] ?? -1),
    },
    xAxis: { type: "category", data: rows.map((row) => String(table.index(row))), name: "step", nameLocation: "middle", nameGap: 24, ...axisStyle(colours), axisTick: { show: false }, axisLabel: { color: colours.dim, fontSize: 12, interval: (place: number) => place % every === 0 } },
    yAxis: { type: "value", name: "ms", ...axisStyle(colours) },
    series: [
      ...used.map((kind) => ({
        type: "bar",
        name: kind,
        stack: "step",
        barCategoryGap: rows.length > MANY ? 0 : "16%",
        barMaxWidth: 48,
        large: rows.length > MANY,
        largeThreshold: MANY,
        itemStyle: { color: colours.kinds[kind] },
        emphasis: { disabled: true },
        data: rows.map((row) => table.duration(row) * table.share(row, kind)),
      })),
      {
        type: "scatter",
        silent: true,
        symbolSize: 1,
        z: 5,
        label: { show: true, position: "top", color: colours.text, fontSize: 11, fontWeight: "bold" },
        data: apart(letters, (width - LEFT - RIGHT) / rows.length).map(({ bar, words, aside }) => ({ value: [bar, table.duration(rows[bar]!)], label: { formatter: words, offset: [aside, 0] } })),
      },
    ],
  };
}

/** Marks of bars so close that their letters would overlap, moved aside. wide: px a bar. aside: px. */
export function apart(letters: Map<number, string[]>, wide: number): { bar: number; words: string; aside: number }[] {
  let free = -Infinity;
  return [...letters].sort(([one], [other]) => one - other).map(([bar, found]) => {
    const half = (found.length * LETTER_PX) / 2;
    const middle = Math.max(bar * wide, free + half);
    free = middle + half;
    return { bar, words: found.join(" "), aside: middle - bar * wide };
  });
}

function words(table: StepTable, row: number): string {
  if (row < 0) return "";
  const rows = parts(table.shares(row)).map((one) => `${one.kind}  ${duration(one.share * table.duration(row))}  (${percent(one.share)})`);
  return [`${table.name(row).replace(/[{}|]/g, " ")}: ${duration(table.duration(row))}`, ...rows].join("\n");
}

function stepPanel(table: StepTable, row: number, rows: number[], view: View): (HTMLElement | null)[] {
  const found = parts(table.shares(row));
  const [median, longest] = [table.median(rows), table.longest(rows)];
  const which = row === median ? "the median step" : row === longest ? "the worst step" : "";
  const time = table.duration(row);
  const usual = table.duration(median);
  const difference = row === median ? "" : `, ${change(time - usual)} against the median`;
  const drawn = view.run.drawn.length > 0;
  return [
    h("div", { class: "panel-head" },
      h("h3", null, table.name(row), which === "" ? null : h("span", { class: "chip" }, which)),
      h("p", null, h("strong", null, duration(time)), h("span", { class: "dim" }, `${difference}; starts at ${duration(table.start(row))}${table.hosts.length > 1 ? ` on ${table.host(row)}` : ""}`)),
      drawn ? h("button", { type: "button", on: { click: () => { view.links.showTimeline(table.host(row), table.index(row), null); } } }, "Show its timeline") : null),
    bar(found, Math.max(time / table.duration(longest), 0.02)),
    row === longest ? null : h("p", { class: "dim small" }, "The whole width is the worst step."),
    row === median
      ? legend(found, time)
      : smallTable(`Step ${table.index(row)} beside the median step`,
          [{ title: "class" }, { title: "time", number: true }, { title: "share", number: true }, { title: "against the median", number: true }],
          CLASSES.filter((kind) => table.share(row, kind) >= 0.0005 || table.share(median, kind) >= 0.0005).map((kind) => [
            h("span", { title: MEANING[kind] }, swatch(kind), kind),
            duration(time * table.share(row, kind)),
            percent(table.share(row, kind)),
            change(time * table.share(row, kind) - usual * table.share(median, kind)),
          ])),
  ];
}

function stepTable(table: StepTable, choose: (row: number) => void, signal: AbortSignal): HTMLElement {
  return virtualTable({
    label: "Steps",
    rows: table.rows,
    sortBy: "start",
    ascending: true,
    height: 384,
    onChoose: choose,
    signal,
    columns: [
      { id: "name", title: "Step", width: "minmax(96px, 1fr)", value: (row) => table.index(row), cell: (row) => table.name(row) },
      ...(table.hosts.length > 1 ? [{ id: "host", title: "Host", width: "minmax(80px, 160px)", from: 640, value: (row: number) => table.host(row), cell: (row: number) => table.host(row) }] : []),
      { id: "start", title: "Start", width: "88px", number: true, from: 480, value: (row) => table.start(row), cell: (row) => duration(table.start(row)) },
      { id: "period", title: "Period", width: "88px", number: true, value: (row) => table.duration(row), cell: (row) => duration(table.duration(row)) },
      ...CLASSES.map((kind, place) => ({ id: kind, title: kind, width: "76px", number: true, from: 520 + place * 76, value: (row: number) => table.share(row, kind), cell: (row: number) => percent(table.share(row, kind)) })),
    ],
  }).element;
}

function setAside(view: View): HTMLElement | null {
  const aside = view.run.report.steps.set_aside;
  if (aside.length === 0) return null;
  return h("details", { class: "as-table" }, h("summary", null, `${plural(aside.length, "step")} set aside`), h("ul", { class: "plain" }, ...aside.map((one) => h("li", null, `${one.name} (${one.index})${view.run.report.run.hosts.length > 1 ? ` on ${one.host}` : ""}: ${duration(one.duration_ms)}, ${one.reason}`))));
}
