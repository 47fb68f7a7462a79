/** Written by docs/generate.py; edit the Python instead. */

/** Texts that repeat: row i is texts[code[i]]. */
export interface Texts {
  texts: (string | null)[];
  code: number[];
}

/** A table: one column for each field of a row. */
export type Columns<Row> = { [Name in keyof Row]: [Row[Name]] extends [string | null] ? Texts : Row[Name][] };

/** What stands inside the page. */
export interface Data {
  format: number;
  trace_viewer: string | null;
  runs: PageData[];
  comparisons: ComparedRuns[];
}

/** Who wrote the report. */
export interface Tool {
  name: string;
  version: string;
}

/** One device that worked in the run. */
export interface DeviceInfo {
  name: string;
  kind: string;
  model: string;
  host: string;
}

/** What was analysed. */
export interface RunInfo {
  path: string;
  name: string;
  hosts: string[];
  devices: DeviceInfo[];
  framework: string;
  framework_version: string | null;
  captured_at: string | null;
  window_ms: number;
  python_calls: boolean;
  silent: string[];
}

/** Periods of the counted steps, start to start. */
export interface StepTimes {
  mean: number;
  median: number;
  p95: number;
  min: number;
  max: number;
  stdev: number;
}

/** One counted step. */
export interface StepInfo {
  index: number;
  name: string;
  host: string;
  start_ms: number;
  duration_ms: number;
}

/** A step that does not count, and why: compiling, warm-up or cut-off. */
export interface SetAsideStep {
  index: number;
  name: string;
  host: string;
  duration_ms: number;
  reason: string;
}

/** The counted steps. */
export interface StepsInfo {
  count: number;
  source: string;
  confidence: number;
  about: string;
  time_ms: StepTimes | null;
  each: Columns<StepInfo>;
  set_aside: SetAsideStep[];
}

/** What the run is bound by. */
export interface Verdict {
  bottleneck: string;
  fraction: number;
  healthy: boolean;
  summary: string;
}

/** A metric's number, or None and the reason. */
export interface MetricValue {
  value: number | null;
  unit: string;
  reason: string | null;
  about: string;
  better: "less" | "more" | "neither";
  scatter: "exact" | "counted" | "share" | "factor";
}

/** What a finding rests on: a metric, or words. */
export interface Evidence {
  metric: string | null;
  text: string;
  value: number | string | null;
  unit: string;
}

/**
 * What a fix could save: a range of shares of step time, and what the range rests
 * on.
 */
export interface Saving {
  low: number;
  high: number;
  basis: string;
}

/** One way to change it. */
export interface Fix {
  kind: string;
  do: string;
  snippet: string;
  env: Record<string, string>;
  valid_for: string;
  side_effect: string;
  cures?: string;
  before?: string;
}

/** A place in the user's program. */
export interface Location {
  file: string;
  line: number | null;
  op: string;
  text?: string;
}

/** Where a rule's knowledge comes from. */
export interface SourceRef {
  doc: string;
  section: string;
  url: string;
}

/** One thing to change. */
export interface Finding {
  rule_id: string;
  category: string;
  severity: "critical" | "high" | "medium" | "low" | "info";
  title: string;
  summary: string;
  evidence: Evidence[];
  saving: Saving | null;
  fixes: Fix[];
  locations: Location[];
  source: SourceRef[];
  caveat: string;
  claims: string[];
  proof: string;
  takes: number | null;
  certainty: string;
  few_steps?: string;
  ask?: string;
  tier?: string;
}

/** A rule that the trace cannot decide. */
export interface NotApplicable {
  rule_id: string;
  reason: string;
}

/** What is wrong with the trace itself and what to do at the next capture. */
export interface CaptureNote {
  rule_id: string;
  note: string;
  do: string;
  snippet: string;
}

/** A rule or metric that failed; the rest of the report stands. */
export interface Broken {
  name: string;
  error: string;
}

/** A rule that looked, and found that this run is fine. */
export interface Passed {
  rule_id: string;
  category: string;
  title: string;
}

/** Where something happens; "" for what the trace does not tell. */
export interface Place {
  file: string;
  line: number | null;
  function: string;
  stage: string;
  layer: string;
  op: string;
  kernel: string;
}

/** One call, op or event inside an activity. */
export interface PlacedTime {
  activity: string;
  fraction: number;
  ms: number;
  places: Place[];
}

/** One thing that is done inside of a place's time. */
export interface Done {
  what: string;
  by: string;
  fraction: number;
  count: number;
  slug: string;
}

/** What the program's source says of a call. */
export interface Witness {
  line: number;
  call: string;
  loop: string;
  loop_line: number | null;
  made_by: string[];
}

/**
 * What a place's time is spent on, how it is tied to the step, and how often it is
 * there.
 */
export interface Cause {
  does: Done[];
  tie: string | null;
  often: string;
  count: number;
  of_steps: number;
  worst_ms: number;
  line: number | null;
  source: string;
  witness: Witness | null;
}

/**
 * One activity in the time of a class: a kind of op, a kind of collective, a Python
 * function, a stage of the pipeline.
 */
export interface ActivityTime {
  activity: string;
  fraction: number;
  ms: number;
  places: Place[];
  parts: PlacedTime[];
  cause?: Cause;
}

/** One class of step time, as in `breakdown`. */
export interface ClassTime {
  fraction: number;
  ms: number;
  parts: ActivityTime[];
  class: string;
}

/**
 * Time of the step beyond what the devices need at least, by what it is
 * spent on.
 */
export interface LimitGap {
  what: string;
  ms: number;
  takes_ms: number;
  limit: string | null;
  reached: number | null;
  places: Place[];
}

/**
 * What the step would take if each op took the least time that its device needs for
 * its bytes and operations, and nothing else took any.
 */
export interface SpeedOfLight {
  fraction: number;
  ms: number;
  gaps: LimitGap[];
}

/** What one line of the program costs. */
export interface LineCost {
  line: number;
  fraction: number;
  classes: Record<string, number>;
  dispatches: number | null;
}

/** Lines of a file that follow each other. */
export interface SourcePart {
  first: number;
  lines: string[];
}

/**
 * A file of the program with what its lines cost. Of what a called function does,
 * the line that calls it bears only what is in no line of the program itself.
 */
export interface AnnotatedFile {
  file: string;
  state: string;
  fraction: number;
  costs: LineCost[];
  parts: SourcePart[];
}

/** A statement of the program. */
export interface RunPlace {
  file: string;
  line: number;
  function: string;
  text: string;
}

/** What a part of the run consists of. */
export interface RunShare {
  what: string;
  kind: string;
  fraction: number;
  seconds: number;
  seen: number;
  places: RunPlace[];
}

/** A part of the run, or of its steps a statement. */
export interface RunPart {
  what: string;
  kind: string;
  fraction: number;
  seconds: number;
  seen: number;
  places: RunPlace[];
  turns: number | null;
  parts: RunShare[];
  op_by_op: number;
  ops_at: RunShare[];
  ops_within: RunPlace[];
  in_python: number;
  statements: RunPart[];
  fills: string;
}

/** What the program did before its first step. */
export interface BeforeSteps {
  seconds: number;
  parts: RunShare[];
}

/**
 * Python that an input pipeline runs on other threads than the main one: a
 * generator, a py_function, a PyDataset of Keras.
 */
export interface PipelinePython {
  seconds: number;
  lines: RunShare[];
  own: number;
  around: number;
  library: string;
  adapter: string;
  generator: string;
  calls: RunShare[];
}

/** What libraries do in the steps for the arguments and results of calls. */
export interface RunDone {
  what: string;
  by: string;
  fraction: number;
  places: RunPlace[];
}

/**
 * All wall time of a program since its first step, by samples of its main thread
 * while no profiler was at work.
 */
export interface RunAccount {
  seconds: number;
  since: string;
  steps: number;
  parts: RunPart[];
  samples: number;
  left_out: number;
  before: BeforeSteps;
  step_ms: number | null;
  ops_at: RunShare[];
  ops_in: RunPlace | null;
  ops_within: RunPlace[];
  pipeline: PipelinePython | null;
  python_at: RunShare[];
  calls: RunShare[];
  done: RunDone[];
}

/**
 * Everything that one analysis found. ops: the hottest first.
 *
 * findings: the largest saving first; those of preview rules after the others,
 * questions last.
 */
export interface Report {
  tool: Tool;
  run: RunInfo;
  steps: StepsInfo;
  breakdown: Record<string, number>;
  verdict: Verdict;
  metrics: Record<string, MetricValue>;
  findings: Finding[];
  not_applicable: NotApplicable[];
  capture: CaptureNote[];
  broken: Broken[];
  passed: Passed[];
  attribution: ClassTime[];
  attribution_absent: string | null;
  speed_of_light: SpeedOfLight | null;
  speed_of_light_absent: string | null;
  source?: AnnotatedFile[];
  run_account: RunAccount | null;
  run_account_absent: string | null;
  schema_version: "1";
}

/**
 * What ran on the devices, per counted step and device: an op of a compiled
 * program, a kernel, a copy.
 *
 * None where the trace does not tell.
 */
export interface Op {
  op: string | null;
  kernel: string;
  module: string | null;
  kind: string;
  share: number;
  ms_per_step: number;
  count_per_step: number;
  precision: string | null;
  opcode: string | null;
  flops: number | null;
  bytes: number | null;
  file: string | null;
  line: number | null;
  grid: number[] | null;
  block: number[] | null;
  registers: number | null;
  shared_bytes: number | null;
  occupancy: number | null;
  launch_ways: number | null;
  shape: string | null;
  tensor_cores: boolean | null;
}

/**
 * One collective of the program over all devices and counted steps. None where not
 * known.
 */
export interface CollectiveRow {
  name: string;
  kind: string;
  bytes: number | null;
  group: number | null;
  devices: number;
  count_per_step: number;
  median_ms: number;
  ms_per_step: number;
  exposed: number;
  wait_ms: number | null;
  bus_gb_s: number | null;
}

/** One active device over the counted steps in which it takes part. */
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

/**
 * One stage of an input pipeline. path: from the consumer, `Prefetch::Map`.
 * ms_per_step: its own work; wall_ms: what that takes at least with its parallelism.
 */
export interface StageRow {
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

/** The input pipeline of one host. */
export interface PipelineInfo {
  host: string;
  stages: StageRow[];
}

/** A Python call of the training loop, per counted step. */
export interface CallRow {
  host: string;
  place: string;
  inner: string;
  calls_per_step: number | null;
  host_ms: number;
  input_ms: number;
}

/**
 * Which step is drawn at once; its events are packed. which, index, span_ns: as
 * DrawnStep has them.
 */
export interface DrawnHead {
  host: string;
  which: "median" | "worst" | "other";
  index: number;
  span_ns: number;
}

/**
 * One op of a program on all devices, per counted step and device. "" for what the
 * trace does not tell.
 */
export interface PartRow {
  name: string;
  module: string;
  layer: string;
  op_type: string;
  line: string;
  stack: string;
  ms_per_step: number;
  count_per_step: number;
  flops: number | null;
  bytes: number | null;
}

/** What one device could do at most. */
export interface PeaksInfo {
  device: string;
  flops: number | null;
  bytes_per_s: number | null;
}

/**
 * The HLO of one op. op, kernel, module: as the ops name it, "" for what it does
 * not have.
 */
export interface ExcerptRow {
  op: string;
  kernel: string;
  module: string;
  text: string;
  operands: string[];
  users: string[];
  more: number;
}

/**
 * Memory that an op holds at an allocator's peak. "" for what the trace does not
 * tell.
 */
export interface BlockRow {
  op: string;
  region: string;
  shape: string;
  bytes: number;
  since_ms: number;
}

/**
 * One allocator over the trace. at_ms, bytes: what is given out from each instant
 * on.
 */
export interface MemoryInfo {
  host: string;
  allocator: string;
  at_ms: number[];
  bytes: number[];
  peak_ms: number;
  peak_bytes: number;
  highest_bytes: number;
  capacity_bytes: number;
  live: BlockRow[];
  unseen_bytes: number;
}

/** One value in memory when a program needs most. */
export interface BufferRow {
  kind: string;
  name: string;
  opcode: string;
  shape: string;
  bytes: number;
  line: string;
  op_name: string;
}

/** What one program needs on one device, by the compiler's plan. */
export interface ProgramMemoryInfo {
  program: string;
  bytes: number;
  bytes_of: Record<string, number>;
  buffers: BufferRow[];
  left_out: number;
}

/** Copies between host and devices one way, per counted step and device. */
export interface CopyRow {
  way: string;
  ms_per_step: number;
  bytes_per_step: number | null;
  gb_s: number | null;
  meaning: string;
  line: string;
}

/**
 * A change of the plan in words. saves: on top of those before it. leaves: of the
 * step then.
 */
export interface PlanLine {
  rule_id: string;
  title: string;
  saves: string;
  leaves: string;
}

/**
 * One run. ops: as the report's, but more of them. hosts_left_out: of the steps
 * that are drawn at once.
 *
 * more: further steps, which few readers look at. The page's data holds the events of
 * all steps packed.
 */
export interface PageData {
  report: Report;
  ops: Columns<Op>;
  collectives: Columns<CollectiveRow>;
  devices: DeviceRow[];
  pipelines: PipelineInfo[];
  calls: Columns<CallRow>;
  drawn: DrawnHead[];
  hosts_left_out: number;
  more: string;
  parts: Columns<PartRow>;
  peaks: PeaksInfo;
  excerpts: ExcerptRow[];
  memory: MemoryInfo[];
  programs: ProgramMemoryInfo[];
  copies: CopyRow[];
  metric_modules: Record<string, string>;
  facts: Record<string, string>;
  drawn_packed: string;
  about: string[];
  plan: PlanLine[];
  plan_end: string;
  bar_note: string;
  step_shares: Record<string, number[]>;
  short_names: Record<string, string>;
}

/**
 * One lane of a drawn step. role: "classes", "stream", "driver" or "thread";
 * device: "" on the host.
 *
 * around: calls that enclose the whole step. deeper: events nested too deep to be
 * drawn.
 */
export interface LaneInfo {
  role: "classes" | "stream" | "driver" | "thread";
  device: string;
  name: string;
  around: string[];
  deeper: number;
}

/**
 * A step with its events; which: "median", "worst" or "other". index: of the step,
 * as in the report.
 *
 * at_ns: its start on the clock of the first host, None where the clocks are not
 * aligned.
 *
 * One row an event or block in every column. start, length, busy: ns, start from the
 * step's. kind: place in the page's classes. name: index into names, -1 of a block and
 * of classes. events: how many a block stands for; busy: how long they run.
 * launch: of what a device ran the row of the call that launched it, -1 where there is
 * none.
 */
export interface DrawnStep {
  host: string;
  which: "median" | "worst" | "other";
  index: number;
  at_ns: number | null;
  span_ns: number;
  lanes: LaneInfo[];
  lane: number[];
  depth: number[];
  start: number[];
  length: number[];
  kind: number[];
  name: number[];
  launch: number[];
  names: string[];
  threads_left_out: number;
  block: number[];
  block_events: number[];
  block_busy: number[];
}

/**
 * A part of the change between two runs, ms a step. class_name: "" of what is left
 * over. words: for a reader.
 */
export interface CauseRow {
  change_ms: number;
  class_name: string;
  words: string;
}

/**
 * Where the change of the step time comes from. new, base: places of the runs in
 * the page.
 *
 * causes: they add up to the change. beside: what speaks for them. differences: why
 * the runs are not quite alike.
 */
export interface ComparedRuns {
  new: number;
  base: number;
  summary: string;
  change_ms: number;
  causes: CauseRow[];
  beside: string[];
  differences: string[];
}

export const FORMAT = 4;

/** Classes of time, in the order of their codes. */
export const CLASSES = ["compute", "collective", "transfer", "compile", "input", "launch", "host", "idle"] as const;
export type Class = (typeof CLASSES)[number];

export const CLASS_MEANING: Record<Class, string> = {
  "compute": "a kernel or op runs on the device",
  "collective": "only communication between devices runs",
  "transfer": "only a copy runs",
  "compile": "the device waits for tracing, compiling or autotuning",
  "input": "the device waits for the next batch",
  "launch": "the device waits for ops or kernels to be dispatched",
  "host": "the device waits for other host work: Python, callbacks, logging",
  "idle": "the device waits, and the trace does not say for what",
};

export const CLASS_OF_WORK: Record<string, Class> = {
  "compute": "compute",
  "collective": "collective",
  "infeed": "input",
  "h2d": "transfer",
  "d2h": "transfer",
  "d2d": "transfer",
  "p2p": "transfer",
  "other_copy": "transfer",
  "memset": "transfer",
};

export const VERDICT_NAMES: Record<string, string> = {
  "input": "Input-bound",
  "host": "Host-bound",
  "launch": "Launch-bound",
  "compile": "Compiling",
  "transfer": "Transfer-bound",
  "collective": "Communication-bound",
  "imbalance": "Unbalanced",
  "memory": "Memory-bound",
  "compute": "Compute-bound",
  "none": "Healthy",
  "unknown": "Unknown",
};

export const FRAMEWORKS: Record<string, string> = {
  "tensorflow": "TensorFlow",
  "jax": "JAX",
  "pytorch-xla": "PyTorch/XLA",
};
