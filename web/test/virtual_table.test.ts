import { beforeAll, describe, expect, it } from "vitest";
import { virtualTable, type VirtualTable } from "../src/parts/virtual_table.js";

beforeAll(() => {
  globalThis.ResizeObserver = class {
    observe(): void { /* jsdom has no layout */ }
    unobserve(): void { /* jsdom has no layout */ }
    disconnect(): void { /* jsdom has no layout */ }
  };
});

function made(values: (number | null)[]): VirtualTable {
  return virtualTable({
    label: "Numbers",
    rows: values.length,
    sortBy: "value",
    signal: new AbortController().signal,
    columns: [{ id: "value", title: "Value", width: "1fr", number: true, value: (row) => values[row] ?? null, cell: (row) => String(values[row]) }],
  });
}

const shown = (table: VirtualTable): string[] => [...table.element.querySelectorAll(".vt-row")].map((row) => row.textContent);

describe("a table of any length", () => {
  it("sorts, and puts what is not known last either way", () => {
    const table = made([2, null, 3, 1]);
    expect(shown(table)).toEqual(["3", "2", "1", "null"]);
    table.element.querySelector("button")!.click();
    expect(shown(table)).toEqual(["1", "2", "3", "null"]);
    expect(table.element.querySelector("[aria-sort]")!.getAttribute("aria-sort")).toBe("ascending");
  });

  it("holds only the rows in view", () => {
    const table = made(Array.from({ length: 20000 }, (_, row) => row));
    expect(shown(table).length).toBeLessThan(40);
    expect(table.element.querySelector("[role=table]")!.getAttribute("aria-rowcount")).toBe("20001");
  });

  it("says when nothing matches", () => {
    const table = made([1, 2]);
    expect(table.filter(() => false)).toBe(0);
    expect(table.element.querySelector<HTMLElement>(".vt-empty")!.hidden).toBe(false);
  });
});
