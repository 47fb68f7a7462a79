import { expect, it } from "vitest";
import { binaryStep, topLine } from "../src/sections/memory.js";

it("lines of an axis of bytes are at whole GiB, MiB or parts of two of them", () => {
  const gib = 2 ** 30;
  expect(binaryStep(5 * gib)).toBe(gib); // lines at 1 to 5 GiB
  expect(binaryStep(3.7 * gib)).toBe(gib / 2);
  expect(binaryStep(1)).toBe(1);
});

it("an axis of bytes ends on a line", () => {
  const mib = 2 ** 20;
  expect(topLine(144 * mib)).toBe(160 * mib); // lines at 32, 64, … MiB, not one more at 172
  expect(topLine(32 * mib)).toBe(32 * mib);
  expect(topLine(0)).toBe(1);
});
