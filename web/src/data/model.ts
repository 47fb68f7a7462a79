/** The data inside the page, as tfadvisor/report/page/encode.py writes it. Times in ms unless a name says ns. */

export const FORMAT = 1;

export interface Data {
  format: number;
  trace_viewer: string | null;
  runs: Run[];
  comparisons?: ComparedRuns[];
}

/** Where the change of the step time comes from; new and base are places in `runs`. The causes add up to the change. */
export interface ComparedRuns {
  new: number;
  base: number;
  summary: string;
  change_ms: number;
  causes: { change_ms: number; class_name: string; words: string }[];
  beside: string[];
  differences: string[];
}

export interface Run {
  report: Report;
  ops: OpColumns;
  collectives: CollectiveColumns;
  devices: DeviceRow[];
  pipelines: Pipeline[];
  calls: CallColumns;
  drawn: DrawnStep[];
  hosts_left_out: number;
}

export interface Report {
  schema_version: string;
  tool: { name: string; version: string };
  run: RunInfo;
  steps: Steps;
  breakdown: Record<string, number>;
  verdict: { bottleneck: string; fraction: number; healthy: boolean; summary: string };
  metrics: Record<string, Metric>;
  findings: Finding[];
  not_applicable: { rule_id: string; reason: string }[];
  capture: { rule_id: string; note: string; do: string; snippet: string }[];
  broken: { name: string; error: string }[];
}

export interface RunInfo {
  path: string;
  name: string;
  hosts: string[];
  devices: { name: string; kind: string; model: string; host: string }[];
  framework: string;
  framework_version: string | null;
  captured_at: string | null;
  window_ms: number;
}

export interface StepTimes {
  mean: number;
  median: number;
  p95: number;
  min: number;
  max: number;
  stdev: number;
}

export interface Steps {
  count: number;
  source: string;
  confidence: number;
  about: string;
  time_ms: StepTimes | null;
  each: StepColumns;
  set_aside: { index: number; name: string; host: string; duration_ms: number; reason: string }[];
}

/** share: of the step's period, in 1/100,000. */
export interface StepColumns {
  index: number[];
  hosts: string[];
  host: number[];
  names: string[];
  name: number[];
  start_ms: number[];
  duration_ms: number[];
  share: Record<string, number[]>;
}

export interface Metric {
  value: number | null;
  unit: string;
  reason: string | null;
  about: string;
}

export interface Finding {
  rule_id: string;
  category: string;
  severity: string;
  title: string;
  summary: string;
  evidence: { metric: string | null; text: string; value: number | string | null; unit: string }[];
  saving: { low: number; high: number; basis: string };
  fixes: Fix[];
  locations: { file: string; line: number | null; op: string }[];
  source: { doc: string; section: string; url: string }[];
  caveat: string;
}

export interface Fix {
  kind: string;
  do: string;
  snippet: string;
  env: Record<string, string>;
  valid_for: string;
  side_effect: string;
}

export interface Texts {
  texts: (string | null)[];
  code: number[];
}

type Numbers = (number | null)[];

export interface OpColumns {
  op?: Texts | Numbers;
  kernel?: Texts;
  module?: Texts | Numbers;
  kind?: Texts;
  share?: number[];
  ms_per_step?: number[];
  count_per_step?: number[];
  precision?: Texts | Numbers;
  opcode?: Texts | Numbers;
  flops?: Numbers;
  bytes?: Numbers;
  file?: Texts | Numbers;
  line?: Numbers;
}

export interface CollectiveColumns {
  name?: Texts;
  kind?: Texts;
  bytes?: Numbers;
  group?: Numbers;
  devices?: number[];
  count_per_step?: number[];
  median_ms?: number[];
  fastest_ms?: number[];
  ms_per_step?: number[];
  exposed?: number[];
  wait_ms?: Numbers;
  bus_gb_s?: Numbers;
}

export interface CallColumns {
  host?: Texts;
  place?: Texts;
  inner?: Texts;
  calls_per_step?: number[];
  host_ms?: number[];
  input_ms?: number[];
}

export interface DeviceRow {
  host: string;
  name: string;
  kind: string;
  model: string;
  steps: number;
  class_ms: Record<string, number>;
  step: number[];
  compute_ms: number[];
  wait_ms: number | null;
  last_share: number | null;
}

export interface Stage {
  path: string;
  kind: string;
  name: string;
  calls_per_step: number;
  ms_per_step: number;
  wall_ms: number;
  parallelism: number;
  python: boolean;
  settings: Record<string, string>;
}

export interface Pipeline {
  host: string;
  stages: Stage[];
}

export interface Lane {
  role: "classes" | "stream" | "driver" | "thread";
  device: string;
  name: string;
  around: string[];
  deeper: number;
}

/** One row an event or block, by lane, depth and start; start, length in ns. block: rows that stand for several events. */
export interface DrawnStep {
  host: string;
  which: "median" | "worst";
  index: number;
  span_ns: number;
  lanes: Lane[];
  lane: number[];
  depth: number[];
  start: number[];
  length: number[];
  kind: number[];
  name: number[];
  names: string[];
  threads_left_out: number;
  block: number[];
  block_events: number[];
  block_busy: number[];
}
