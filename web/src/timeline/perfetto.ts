/** A drawn step for Perfetto: as a file, or handed to its page, which reads it inside the browser and sends it nowhere. */
import type { DrawnStep } from "../data/generated.js";
import { Layout, laneTitle } from "./layout.js";

const PERFETTO = "https://ui.perfetto.dev";
const ASK_EVERY_MS = 200;
const GIVE_UP_MS = 20_000;

/** The Trace Event Format: one thread a lane, times in µs. */
export function traceEvents(step: DrawnStep): string {
  const layout = new Layout(step);
  const names = step.lanes.flatMap((lane, place) => [
    { ph: "M", name: "thread_name", pid: 1, tid: place + 1, args: { name: laneTitle({ ...lane, around: [] }) } },
    { ph: "M", name: "thread_sort_index", pid: 1, tid: place + 1, args: { sort_index: place } },
  ]);
  const events = step.start.map((start, event) => ({ ph: "X", name: layout.name(event), cat: layout.kind(event), pid: 1, tid: step.lane[event]! + 1, ts: start / 1e3, dur: step.length[event]! / 1e3 }));
  const process = { ph: "M", name: "process_name", pid: 1, args: { name: `step ${step.index} of ${step.host || "all hosts"}` } };
  return JSON.stringify({ displayTimeUnit: "ms", traceEvents: [process, ...names, ...events] });
}

export function fileName(step: DrawnStep): string {
  return `step-${step.index}.perfetto.json`;
}

/** Opens Perfetto's page and hands it the step once it answers; resolves to whether it did. Must be called by a click. */
export function openInPerfetto(step: DrawnStep): Promise<boolean> {
  const opened = window.open(PERFETTO);
  if (opened === null) return Promise.resolve(false);
  return new Promise((resolve) => {
    const end = (done: boolean): void => {
      clearInterval(asking);
      clearTimeout(late);
      removeEventListener("message", answered);
      resolve(done);
    };
    const answered = (event: MessageEvent): void => {
      if (event.source !== opened || event.origin !== PERFETTO || event.data !== "PONG") return;
      const buffer = new TextEncoder().encode(traceEvents(step)).buffer;
      opened.postMessage({ perfetto: { buffer, title: `tfadvisor, step ${step.index}`, fileName: fileName(step) } }, PERFETTO, [buffer]);
      end(true);
    };
    addEventListener("message", answered);
    const asking = setInterval(() => { opened.postMessage("PING", PERFETTO); }, ASK_EVERY_MS);
    const late = setTimeout(() => { end(false); }, GIVE_UP_MS);
  });
}
