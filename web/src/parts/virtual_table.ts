/** A table of any length: only the rows in view exist. Sorted by its headings, filtered from outside. */
import { append, h, replaceChildren } from "../dom.js";
import { PRINTED, PRINTS } from "./print.js";
import { csvButton } from "./csv.js";

const ROW = 32;
const TALL_ROW = 48;
/** px, below which a row has a second line. */
const NARROW = 720;
const BEYOND = 8;
const MOST_PRINTED = 24;

export interface ColumnOf {
  id: string;
  title: string;
  about?: string;
  /** A CSS grid track. */
  width: string;
  number?: boolean;
  /** The least width of the table in which the column is shown, px. */
  from?: number;
  /** Where it is not shown, these words stand below the row's first cell. */
  below?: (row: number) => string | null;
  /** What rows are sorted by; null comes last. */
  value: (row: number) => number | string | null;
  cell: (row: number) => Node | string;
}

export interface Wanted {
  label: string;
  rows: number;
  columns: ColumnOf[];
  sortBy: string;
  ascending?: boolean;
  height?: number;
  onChoose?: (row: number) => void;
  empty?: string;
  signal: AbortSignal;
}

export interface VirtualTable {
  element: HTMLElement;
  /** Shows the rows for which it holds; returns how many. */
  filter(keep: ((row: number) => boolean) | null): number;
  choose(row: number): void;
}

export function virtualTable(wanted: Wanted): VirtualTable {
  const { rows, columns, onChoose } = wanted;
  let sortBy = wanted.sortBy;
  let ascending = wanted.ascending ?? false;
  let keep: ((row: number) => boolean) | null = null;
  let order: number[] = [];
  let chosen = -1;
  let from = -1;
  let to = -1;
  let shown = columns;
  let below: ColumnOf[] = [];
  let tall = ROW;

  const head = h("div", { class: "vt-head", role: "row", "aria-rowindex": 1 });
  const body = h("div", { class: "vt-rows" });
  const space = h("div", { class: "vt-space", role: "rowgroup" }, body);
  const table = h("div", { role: "table", "aria-label": wanted.label }, h("div", { role: "rowgroup", class: "vt-top" }, head), space);
  const scroller = h("div", { class: "vt-scroll", tabindex: 0, role: "group", "aria-label": `${wanted.label}, scrolls` }, table);
  const nothing = h("p", { class: "dim vt-empty", hidden: true }, wanted.empty ?? "No row matches.");
  const more = h("dl", { class: "facts vt-more", hidden: true, "aria-live": "polite" });
  const csv = csvButton(wanted.label, () => [columns.map((one) => one.title), ...order.map((row) => columns.map((one) => one.value(row)))]);
  const element = h("div", { class: "vt-frame" }, scroller, nothing, h("div", { class: "vt-foot" }, csv), more);

  const draw = (): void => {
    const first = Math.max(Math.floor(scroller.scrollTop / tall) - BEYOND, 0);
    const last = Math.min(Math.ceil((scroller.scrollTop + scroller.clientHeight) / tall) + BEYOND, order.length);
    if (first === from && last === to) return;
    from = first;
    to = last;
    body.style.transform = `translateY(${first * tall}px)`;
    body.replaceChildren(...order.slice(first, last).map((row, place) => line(row, first + place)));
  };

  const line = (row: number, place: number): HTMLElement => {
    const element_ = h("div", {
      class: `vt-row can${row === chosen ? " chosen" : ""}${below.length > 0 ? " two" : ""}`,
      role: "row",
      "aria-rowindex": place + 2,
      "aria-current": row === chosen ? "true" : null,
    });
    for (const column of shown) {
      const cell = h("div", { role: "cell", class: column.number === true ? "number" : null });
      append(cell, column === shown[0] && below.length > 0 ? h("span", { class: "vt-name" }, column.cell(row)) : column.cell(row));
      element_.append(cell);
    }
    const told = below.map((column) => column.below!(row)).filter((words) => words !== null && words !== "");
    if (below.length > 0) append(element_.firstChild as HTMLElement, h("small", { class: "dim" }, told.join(" · ")));
    element_.addEventListener("click", () => { choose(row); });
    return element_;
  };

  /** The chosen row opened: what has no room in the table, and without another place that tells of the row all of it. */
  const tellMore = (): void => {
    const left = columns.filter((column) => onChoose === undefined || !shown.includes(column));
    more.hidden = chosen < 0 || left.length === 0;
    replaceChildren(more, ...(more.hidden ? [] : left.map((column) => h("div", null, h("dt", null, column.title), h("dd", null, column.cell(chosen))))));
  };

  const choose = (row: number): void => {
    chosen = row;
    again();
    tellMore();
    onChoose?.(row);
  };

  const again = (): void => {
    from = to = -1;
    draw();
  };

  const arrange = (): void => {
    const column = columns.find((one) => one.id === sortBy) ?? columns[0]!;
    const all = Array.from({ length: rows }, (_, row) => row);
    const kept = keep === null ? all : all.filter(keep);
    const values = new Array<number | string | null>(rows);
    for (const row of kept) values[row] = column.value(row);
    const sign = ascending ? 1 : -1;
    order = kept.sort((a, b) => sign * compare(values[a] ?? null, values[b] ?? null, sign) || a - b);
    space.style.height = `${order.length * tall}px`;
    scroller.style.height = `${Math.min(order.length * tall + ROW + 2, wanted.height ?? 352)}px`;
    table.setAttribute("aria-rowcount", String(order.length + 1));
    scroller.hidden = order.length === 0;
    nothing.hidden = order.length > 0;
    again();
  };

  const heading = (): void => {
    replaceChildren(head);
    for (const column of shown) {
      const sorted = column.id === sortBy;
      const button = h("button", { type: "button", title: column.about, on: { click: () => { sort(column); } } }, column.title, h("span", { "aria-hidden": "true", class: "arrow" }, sorted ? (ascending ? "▲" : "▼") : ""));
      head.append(h("div", { role: "columnheader", class: column.number === true ? "number" : null, "aria-sort": sorted ? (ascending ? "ascending" : "descending") : "none" }, button));
    }
  };

  const sort = (column: ColumnOf): void => {
    ascending = column.id === sortBy ? !ascending : column.number !== true;
    sortBy = column.id;
    heading();
    arrange();
    head.querySelectorAll("button")[shown.indexOf(column)]?.focus();
  };

  const fit = (): void => {
    const width = element.clientWidth || 1200;
    const fitting = columns.filter((column) => width >= (column.from ?? 0));
    element.style.setProperty("--tracks", fitting.map((column) => column.width).join(" "));
    const told = width < NARROW ? columns.filter((column) => column.below !== undefined && !fitting.includes(column)) : [];
    if (fitting.length !== shown.length || told.length !== below.length) {
      shown = fitting;
      below = told;
      tall = below.length > 0 ? TALL_ROW : ROW;
      element.style.setProperty("--row", `${tall}px`);
      heading();
      arrange();
      tellMore();
    }
    again();
  };

  scroller.addEventListener("scroll", draw, { passive: true });
  scroller.addEventListener("keydown", (event) => {
    if (event.target !== scroller || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    const place = order.indexOf(chosen) + (event.key === "ArrowDown" ? 1 : -1);
    const next = order[Math.max(place, 0)];
    if (next === undefined) return;
    event.preventDefault();
    const top = Math.max(place, 0) * tall;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    if (top + tall + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + tall + ROW - scroller.clientHeight;
    choose(next);
  });
  document.addEventListener(PRINTS, () => {
    scroller.scrollTop = 0;
    scroller.style.height = `${Math.min(order.length, MOST_PRINTED - 1) * tall + ROW + 2}px`;
    again();
  }, { signal: wanted.signal });
  document.addEventListener(PRINTED, arrange, { signal: wanted.signal });
  const sized = new ResizeObserver(fit);
  sized.observe(element);
  wanted.signal.addEventListener("abort", () => { sized.disconnect(); });
  heading();
  arrange();
  return {
    element,
    filter: (condition) => {
      keep = condition;
      scroller.scrollTop = 0;
      arrange();
      return order.length;
    },
    choose,
  };
}

/** Nulls last, whichever way is sorted. */
function compare(a: number | string | null, b: number | string | null, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? sign : -sign;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b));
}
