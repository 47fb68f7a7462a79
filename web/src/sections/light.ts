/** What the step would take at the limits of its devices, and what is above that. */
import type { LimitGap, Report } from "../data/generated.js";
import { h } from "../dom.js";
import { smallTable } from "../parts/section.js";
import { change, duration, percent } from "../words.js";

const FINE = 0.001;

/** A waterfall as a table; null where the least time is not known. */
export function light(report: Report): HTMLElement | null {
  const found = report.speed_of_light;
  if (found === null) return null;
  const heads = [{ title: "What" }, { title: "Takes", number: true }, { title: "Above the least", number: true }, { title: "Reaches" }];
  const least = ["Least time at the devices' limits", duration(found.ms), "", `${share(found.fraction)} of the step`];
  return h("details", { class: "light folded" },
    h("summary", null, `Speed of light: ${share(found.fraction)} of the step`),
    h("p", { class: "dim small" }, `At the limits of its devices this step takes ${duration(found.ms)}: each op moves its bytes at the memory's bandwidth or computes at its peak, whichever takes longer.${utilisation(report)}`),
    smallTable("Speed of light", heads, [least, ...found.gaps.map(row)]));
}

function row(gap: LimitGap): string[] {
  return [gap.what, duration(gap.takes_ms), change(gap.ms), reached(gap)];
}

/** `61% of peak`. */
export function reached(gap: LimitGap): string {
  if (gap.reached === null) return "";
  return `${share(gap.reached)} of ${gap.limit === "arithmetic" ? "peak" : (gap.limit ?? "")}`;
}

function utilisation(report: Report): string {
  const value = report.metrics["mfu"]?.value;
  return typeof value === "number" ? ` Model FLOPs utilisation: ${share(value)}.` : "";
}

/** A percentage that does not become 0.0%. */
function share(fraction: number): string {
  return fraction > 0 && fraction < FINE ? `${Number((fraction * 100).toPrecision(2))}%` : percent(fraction);
}
