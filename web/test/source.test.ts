import { expect, test } from "vitest";
import type { Report } from "../src/data/generated.js";
import { source } from "../src/sections/source.js";

const FILE = {
  file: "train.py", state: "differs", fraction: 0.7,
  costs: [{ line: 8, fraction: 0.7, classes: { launch: 0.1, host: 0.6 }, dispatches: null }],
  parts: [{ first: 7, lines: ["while True:", "    save('<b>')"] }],
};

test("each line stands with its number, share and classes, the largest first, and as text", () => {
  const element = source({ source: [FILE] } as unknown as Report);
  const rows = [...element!.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent));

  expect(rows).toEqual([["7", "", "", "while True:"], ["8", "70%", "host launch ", "    save('<b>')"]]);
  expect(element!.querySelector("summary")!.textContent).toBe("train.py 70% of the step differs from what ran");
});

test("a report without a source has no such part", () => {
  expect(source({} as unknown as Report)).toBeNull();
});
