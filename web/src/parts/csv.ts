/** Any table as a CSV file: a button that saves what the page already holds. */
import { h } from "../dom.js";

export type Cell = string | number | null;

/** rows: the headings first. */
export function csvButton(name: string, rows: () => Cell[][]): HTMLElement {
  return h("button", { type: "button", class: "quiet csv", title: `Save ${name} as CSV`, "aria-label": `Save ${name} as CSV`, on: { click: () => { save(`${name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv`, asCsv(rows())); } } }, "CSV");
}

/** RFC 4180; a text that a spreadsheet would run as a formula is quoted with an apostrophe. */
export function asCsv(rows: Cell[][]): string {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function cell(value: Cell): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** As a file that the browser downloads. */
export function save(file: string, text: string, type = "text/csv"): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.setAttribute("href", address);
  link.setAttribute("download", file);
  link.click();
  setTimeout(() => { URL.revokeObjectURL(address); }, 1000);
}
