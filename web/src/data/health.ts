import type { Report } from "./generated.js";

/** Of the step, from where on its devices are near their limits. */
const HALF = 0.5;

/** Whether nothing is worth a change, and the devices are known to be near their limits. */
export function isHealthy(report: Report): boolean {
  return report.verdict.healthy && (report.metrics["near_limit_fraction"]?.value ?? 0) >= HALF;
}
