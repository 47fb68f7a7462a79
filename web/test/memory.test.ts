import { expect, it } from "vitest";
import { binaryStep } from "../src/sections/memory.js";

it("lines of an axis of bytes are at whole GiB, MiB or parts of two of them", () => {
  const gib = 2 ** 30;
  expect(binaryStep(5 * gib)).toBe(gib); // lines at 1 to 5 GiB
  expect(binaryStep(3.7 * gib)).toBe(gib / 2);
  expect(binaryStep(1)).toBe(1);
});
