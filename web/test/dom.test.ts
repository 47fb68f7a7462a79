import { describe, expect, it } from "vitest";
import { h, printable, safeAddress, withCode } from "../src/dom.js";

const HOSTILE = '</script><img src=x onerror="alert(1)">';

describe("text stays text", () => {
  it("as a child and as an attribute", () => {
    const element = h("p", { title: HOSTILE }, HOSTILE);

    expect(element.children).toHaveLength(0);
    expect(element.textContent).toBe(HOSTILE);
    expect(element.getAttribute("title")).toBe(HOSTILE);
  });

  it("what stands between backticks is code, and no markup", () => {
    const element = h("p", null, ...withCode(`the class \`input\`, \`${HOSTILE}\` and one ` + "` more"));

    expect([...element.children].map((one) => [one.tagName, one.textContent])).toEqual([["CODE", "input"], ["CODE", HOSTILE]]);
    expect(element.textContent).toBe(`the class input, ${HOSTILE} and one \` more`);
  });

  it("control and direction-changing characters are shown", () => {
    expect(printable("a\u202eb\x1b[31m\tc\n")).toBe("a\\x202eb\\x1b[31m\tc\n");
  });

  it.each(["javascript:alert(1)", " JaVaScRiPt:alert(1)", "\x01javascript:alert(1)", "data:text/html,x", "vbscript:x"])("%s is no address", (address) => {
    expect(safeAddress(address)).toBe("#");
  });

  it.each(["https://example.org/a", "http://localhost:6006/#x", "#finding=a", "trace_viewer?run=a"])("%s is one", (address) => {
    expect(safeAddress(address)).toBe(address);
  });
});
