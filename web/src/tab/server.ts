/** What the plugin's routes answer; the only place of the page that asks a server for anything, and only its own. */
import type { ComparedRuns, Data, DrawnStep, PageData } from "../data/generated.js";
import { checked } from "../data/read.js";

const QUICK_POLLS = 40;
const QUICK_MS = 80;
const SLOW_MS = 400;
/** Of a comparison, which takes a moment or was lost. */
const MOST_POLLS = 60;

/** stamp: changes when the run's files do. recorded: seconds since the epoch. trace_viewer: null where XProf does not show the run. */
export interface ListedRun {
  name: string;
  hosts: number;
  bytes: number;
  recorded: number;
  stamp: string;
  trace_viewer: string | null;
  /** null before the run was analysed. */
  told: { verdict: string; step_ms: number | null; kind?: string } | null;
}

interface Progress {
  state: "waiting" | "reading" | "failed";
  fraction: number;
  error: { place: string; cause: string; remedy: string } | null;
}

/** Why a run cannot be shown, in the words of its analysis. */
export class Unreadable extends Error {
  constructor(readonly place: string, readonly cause_: string, readonly remedy: string) {
    super(cause_);
  }
}

export async function listRuns(): Promise<ListedRun[]> {
  return (await ask<{ runs: ListedRun[] }>("runs", null)).runs;
}

/** Waits for the analysis; onProgress is told how far it is, null while it waits for its turn. Throws Unreadable. */
export async function loadRun(name: string, again: boolean, signal: AbortSignal, onProgress: (fraction: number | null) => void): Promise<PageData> {
  const route = `page?run=${encodeURIComponent(name)}`;
  for (let poll = 0; ; poll += 1) {
    const answer = await ask<Data | Progress>(again && poll === 0 ? `${route}&again=1` : route, signal);
    if ("runs" in answer) return checked(answer).runs[0]!;
    if (answer.error !== null) throw new Unreadable(answer.error.place, answer.error.cause, answer.error.remedy);
    onProgress(answer.state === "waiting" ? null : answer.fraction);
    await pause(poll, signal);
  }
}

/** One step with all of its threads. Waits until the trace was read again. Throws Unreadable. */
export async function loadStep(name: string, host: string, index: number, signal: AbortSignal): Promise<DrawnStep> {
  const route = `step?run=${encodeURIComponent(name)}&host=${encodeURIComponent(host)}&index=${index}`;
  for (let poll = 0; ; poll += 1) {
    const answer = await ask<DrawnStep | Progress>(route, signal);
    if ("lanes" in answer) return answer;
    if (answer.error !== null) throw new Unreadable(answer.error.place, answer.error.cause, answer.error.remedy);
    await pause(poll, signal);
  }
}

/** The causes of the change from base to run, both of which were loaded; null where they cannot be told apart. */
export async function loadComparison(run: string, base: string, signal: AbortSignal): Promise<ComparedRuns | null> {
  const route = `comparison?run=${encodeURIComponent(run)}&base=${encodeURIComponent(base)}`;
  for (let poll = 0; poll < MOST_POLLS; poll += 1) {
    let answer: ComparedRuns | Progress;
    try {
      answer = await ask<ComparedRuns | Progress>(route, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof Unreadable) return null;
      throw error;
    }
    if ("causes" in answer) return answer;
    if (answer.error !== null) return null;
    await pause(poll, signal);
  }
  return null;
}

async function pause(poll: number, signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => { setTimeout(resolve, poll < QUICK_POLLS ? QUICK_MS : SLOW_MS); });
  signal.throwIfAborted();
}

async function ask<Answer>(route: string, signal: AbortSignal | null): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(route, { signal, credentials: "same-origin" });
  } catch (error) {
    signal?.throwIfAborted();
    throw new Unreadable("TensorBoard", "does not answer.", `Is it still running? (${error instanceof Error ? error.message : String(error)})`);
  }
  if (response.status === 404) throw new Unreadable(route, "is no longer in the logdir.", "Choose another run.");
  if (!response.ok) throw new Unreadable("TensorBoard", `answers with status ${response.status}.`, "What it prints where it was started says why.");
  return await response.json() as Answer;
}
