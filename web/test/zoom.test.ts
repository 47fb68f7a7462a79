import { describe, expect, it } from "vitest";
import { Zoom, zoomKey } from "../src/parts/zoom.js";

describe("a window onto a range", () => {
  it("keeps the place under the pointer", () => {
    const zoom = new Zoom(1000, 10);

    zoom.by(2, 250);

    expect([zoom.from, zoom.to]).toEqual([125, 625]);
  });

  it("never leaves the range, and never shows less than the least", () => {
    const zoom = new Zoom(1000, 10);
    zoom.by(1e9);
    expect(zoom.width).toBe(10);
    zoom.pan(1e9);
    expect(zoom.to).toBe(1000);
    zoom.by(1e-9);
    expect([zoom.from, zoom.to]).toEqual([0, 1000]);
  });

  it("moves as little as needed to reveal", () => {
    const zoom = new Zoom(1000, 10);
    zoom.show(100, 200);
    zoom.reveal(150, 160);
    expect(zoom.from).toBe(100);
    zoom.reveal(300, 310);
    expect([zoom.from, zoom.to]).toEqual([210, 310]);
  });

  it("keys it does not know are left to the page", () => {
    expect(zoomKey(new Zoom(10, 1), "Tab")).toBe(false);
  });
});
