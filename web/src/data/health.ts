import type { Report } from "./generated.js";

/** Whether nothing is worth a change, and the devices are known to be near their limits. */
export function isHealthy(report: Report): boolean {
  return report.verdict.healthy && (report.metrics["near_limit_fraction"]?.value ?? null) !== null;
}
