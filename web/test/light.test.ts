// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import type { Report } from "../src/data/generated.js";
import { light } from "../src/sections/light.js";

const GAP = { places: [], limit: null, reached: null };

function report(more: object): Report {
  return { metrics: {}, speed_of_light: null, ...more } as unknown as Report;
}

describe("the speed of light", () => {
  it("is not drawn where it is not known", () => {
    expect(light(report({}))).toBeNull();
  });

  it("lists the least time and what is above it", () => {
    const gaps = [
      { ...GAP, what: "scatters and gathers", ms: 31, takes_ms: 31, limit: "memory bandwidth", reached: 0.00012 },
      { ...GAP, what: "launch", ms: 14, takes_ms: 14 },
    ];
    const element = light(report({ speed_of_light: { fraction: 0.167, ms: 9, gaps }, metrics: { mfu: { value: 0.34 } } }));
    const rows = [...element!.querySelectorAll("tbody tr")].map((one) => [...one.children].map((cell) => cell.textContent));

    expect(rows).toEqual([
      ["Least time at the devices' limits", "9 ms", "", "17% of the step"],
      ["scatters and gathers", "31 ms", "+31 ms", "0.012% of memory bandwidth"],
      ["launch", "14 ms", "+14 ms", ""],
    ]);
    expect(element!.textContent).toContain("Model FLOPs utilisation: 34%.");
  });
});
