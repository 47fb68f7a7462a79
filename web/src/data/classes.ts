/** The classes that an instant of a step can belong to, in the order of their codes; `wait` only in timelines. */
export const CLASSES = ["compute", "collective", "transfer", "compile", "input", "launch", "host", "idle"] as const;
export const KINDS = [...CLASSES, "wait"] as const;

export type Class = (typeof CLASSES)[number];
export type Kind = (typeof KINDS)[number];

export const MEANING: Record<Kind, string> = {
  compute: "a kernel or op runs on the device",
  collective: "only communication between devices runs",
  transfer: "only a copy runs",
  compile: "the device waits for tracing, compiling or autotuning",
  input: "the device waits for the next batch",
  launch: "the device waits for ops or kernels to be dispatched",
  host: "the device waits for other host work: Python, callbacks, logging",
  idle: "the device waits, and the trace does not say for what",
  wait: "a thread blocks until something else is done",
};

/** The class of time that findings of a category are about; null where it is about none. */
export function classOf(category: string): Class | null {
  const direct = CLASSES.find((one) => one === category);
  if (direct !== undefined) return direct;
  if (category === "imbalance") return "collective";
  if (category === "precision" || category === "kernel") return "compute";
  return category === "placement" ? "transfer" : null;
}
