import { describe, expect, it } from "vitest";
import { momentHash, momentOf } from "../src/sections/timeline.js";

describe("a stretch of a step in the page's address", () => {
  it("comes back as it was written", () => {
    const moment = { host: "worker 1,2#é", index: 7, from: 300, to: 600 };
    expect(momentOf(momentHash(moment))).toEqual(moment);
  });

  it.each(["", "#timeline", "#moment=a,1,5,5", "#moment=a,1,9,5", "#moment=a,x,0,5", "#moment=a,1,0,1e9"])("%s is none", (hash) => { expect(momentOf(hash)).toBeNull(); });

  it("takes a name as it is where it is no code", () => { expect(momentOf("#moment=%E0%A4%A,1,0,5")?.host).toBe("%E0%A4%A"); });
});
