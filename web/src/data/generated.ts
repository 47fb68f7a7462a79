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

/** What was analysed. captured_at: ISO time in UTC or None. window_ms: from the first event to the last. */
export interface RunInfo {
  path: string;
  name: string;
  hosts: string[];
  devices: DeviceInfo[];
  framework: string;
  framework_version: string | null;
  captured_at: string | null;
  window_ms: number;
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

/** The report's counted steps as columns, one row a step. */
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

/** A step that does not count, and why: compiling, warm-up or cut-off. */
export interface SetAsideStep {
  index: number;
  name: string;
  host: string;
  duration_ms: number;
  reason: string;
}

/**
 * The counted steps. source: how they were found; confidence 0..1; about: what they were told by.
 *
 * count: on the host that has most; each holds those of all hosts.
 */
export interface StepsInfo {
  count: number;
  source: string;
  confidence: number;
  about: string;
  time_ms: StepTimes | null;
  each: StepColumns;
  set_aside: SetAsideStep[];
}

/** bottleneck: what costs most; fraction: its share of step time; healthy: nothing costs enough to act on. */
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

/** A metric by name or a text, with its value and unit ("text" for words). */
export interface Evidence {
  metric: string | null;
  text: string;
  value: number | string | null;
  unit: string;
}

/** What a fix could save: a range of shares of step time, and what the range rests on. */
export interface Saving {
  low: number;
  high: number;
  basis: string;
}

/** kind: code, env, flag, config or command. do: the edit in words. snippet: the edit itself. */
export interface Fix {
  kind: string;
  do: string;
  snippet: string;
  env: Record<string, string>;
  valid_for: string;
  side_effect: string;
}

/** A place in the user's program; file is as the trace names it, without its folder. */
export interface Location {
  file: string;
  line: number | null;
  op: string;
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
  saving: Saving;
  fixes: Fix[];
  locations: Location[];
  source: SourceRef[];
  caveat: string;
  claims: string[];
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

/** One layer, op type or source line, per counted step and device. */
export interface TimePart {
  name: string | null;
  share: number;
  ms_per_step: number;
  count_per_step: number;
  flops: number | null;
  bytes: number | null;
}

/** The same compute time in three ways, the largest first; empty where the trace names nothing of the kind. */
export interface TimeBy {
  layer: TimePart[];
  op_type: TimePart[];
  line: TimePart[];
}

/** Everything that one analysis found. findings: the largest saving first. ops: the hottest first. */
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
  time_by: TimeBy;
  schema_version: "1";
}

/**
 * What ran on the devices, per counted step and device: an op of a compiled program, a kernel, a copy.
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
}

/** One collective of the program over all devices and counted steps. None where not known. */
export interface CollectiveRow {
  name: string;
  kind: string;
  bytes: number | null;
  group: number | null;
  devices: number;
  count_per_step: number;
  median_ms: number;
  fastest_ms: number;
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
 * One stage of an input pipeline. path: from the consumer, `Prefetch::Map`. ms_per_step: its own work; wall_ms: what
 * that takes at least with its parallelism.
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
  calls_per_step: number;
  host_ms: number;
  input_ms: number;
}

/**
 * One lane of a drawn step. role: "classes", "stream", "driver" or "thread"; device: "" on the host.
 *
 * around: calls that enclose the whole step. deeper: events nested too deep to be drawn.
 */
export interface LaneInfo {
  role: "classes" | "stream" | "driver" | "thread";
  device: string;
  name: string;
  around: string[];
  deeper: number;
}

/**
 * A step with its events; which: "median", "worst" or "other". index: of the step, as in the report.
 *
 * at_ns: its start on the clock of the first host, None where the clocks are not aligned.
 *
 * One row an event or block in every column. start, length, busy: ns, start from the step's. kind: place in the page's
 * classes. name: index into names, -1 of a block and of classes. events: how many a block stands for; busy: how long
 * they run.
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
  names: string[];
  threads_left_out: number;
  block: number[];
  block_events: number[];
  block_busy: number[];
}

/** One op of a program on all devices, per counted step and device. "" for what the trace does not tell. */
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

/** The HLO of one op. op, kernel, module: as the ops name it, "" for what it does not have. */
export interface ExcerptRow {
  op: string;
  kernel: string;
  module: string;
  text: string;
  operands: string[];
  users: string[];
  more: number;
}

/** Memory that an op holds at an allocator's peak. "" for what the trace does not tell. */
export interface BlockRow {
  op: string;
  region: string;
  shape: string;
  bytes: number;
  since_ms: number;
}

/** One allocator over the trace. at_ms, bytes: what is given out from each instant on. */
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

/**
 * One run. ops: as the report's, but more of them. hosts_left_out: of the steps that are drawn at once.
 *
 * more: further steps; the page's data holds them packed, since few readers look at them.
 */
export interface PageData {
  report: Report;
  ops: Columns<Op>;
  collectives: Columns<CollectiveRow>;
  devices: DeviceRow[];
  pipelines: PipelineInfo[];
  calls: Columns<CallRow>;
  drawn: DrawnStep[];
  hosts_left_out: number;
  more: string;
  parts: Columns<PartRow>;
  peaks: PeaksInfo;
  excerpts: ExcerptRow[];
  memory: MemoryInfo[];
  programs: ProgramMemoryInfo[];
}

/** A part of the change between two runs, ms a step. class_name: "" of what is left over. words: for a reader. */
export interface CauseRow {
  change_ms: number;
  class_name: string;
  words: string;
}

/**
 * Where the change of the step time comes from. new, base: places of the runs in the page.
 *
 * causes: they add up to the change. beside: what speaks for them. differences: why the runs are not quite alike.
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

export const FORMAT = 2;

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

export const FACT_ABOUT: Record<string, string> = {
  "fallback_kernel": "The matrix kernel of 16 bits or fewer without Tensor Cores that takes most time; its name is shortened.",
  "fallback_kernel_place": "The op that fallback_kernel works for, with its place in the user's program: `dot.4 (train.py:42)`.",
  "slowest_fp32_kernel": "The fp32 matrix kernel without Tensor Cores that takes most time; its name is shortened.",
  "slowest_fp32_place": "The op that slowest_fp32_kernel works for, with its place in the user's program: `dot.4 (train.py:42)`.",
  "layout_conversion_op": "The layout conversion that takes most time.",
  "layout_conversion_place": "The layout conversion that takes most time, with its place in the user's program.",
  "cumulative_op_op": "The cumulative op that takes most time.",
  "cumulative_op_place": "The cumulative op that takes most time, with its place in the user's program.",
  "gather_op": "The gather that takes most time.",
  "gather_place": "The gather that takes most time, with its place in the user's program.",
  "slice_copy_op": "The slice copy that takes most time.",
  "slice_copy_place": "The slice copy that takes most time, with its place in the user's program.",
  "concatenation_op": "The concatenation that takes most time.",
  "concatenation_place": "The concatenation that takes most time, with its place in the user's program.",
  "elementwise_op": "The elementwise op that takes most time: `loop_add_fusion`.",
  "elementwise_place": "The elementwise op that takes most time, with its place in the user's program: `loop_add_fusion (model.py:42)`.",
  "generic_product_op": "The matrix product as a plain loop that takes most time: `loop_dot_fusion.2`.",
  "generic_product_place": "The matrix product as a plain loop that takes most time, with its place in the user's program: `loop_dot_fusion.2 (train.py:42)`.",
  "untuned_convolution_place": "The costliest untuned convolution, with its place in the user's program: `cudnn-conv.1 (train.py:42)`.",
  "decomposition_op": "The matrix decomposition that takes most time: `Svd_2:Svd`.",
  "sort_op": "The sort that takes most time: `sort.3`.",
  "sort_place": "The sort that takes most time, with its place in the user's program: `sort.3 (model.py:42)`.",
  "copied_arguments": "The arguments that the program copies because they are not donated, the costliest first: `state.memory, state.moments`.",
  "largest_op": "The op that takes most compute time: `gradient_tape/model/conv2d/Conv2D/Conv2DBackpropFilter`.",
  "largest_layer": "The layer that takes most compute time: `model/conv2d`.",
  "largest_op_type": "The type of ops that takes most compute time: `Conv2DBackpropFilter`.",
  "largest_line": "The line of the user's program that takes most compute time: `train.py:42`.",
  "largest_op_place": "The op that takes most compute time, with its place in the user's program: `fusion.3 (train.py:42)`.",
  "largest_compute": "Where the compute time goes: `Of each step of 80.7 ms, the op conv2d/Conv2DBackpropFilter takes 36.0 ms (34% of the op time), the layer conv2d 88.2 ms (83%)`.",
  "dense_gradient_op": "The op that takes most time to make a table's gradient dense: `adam/UnsortedSegmentSum`.",
  "text_op": "The op on strings or tables that takes most time: `text_vectorization/StringSplit/StringSplitV2`.",
  "busiest_replica": "The replica whose ops take most time, with its share of all replicas' time: `replica 0, 75%`.",
  "double_precision_op": "The op on 64-bit floats that takes most time: `dot.3`.",
  "long_filter_op": "The costliest convolution with a filter of 256 elements or more: `convolution.3`.",
  "scatter_loop_place": "The costliest update inside a loop that scatters row by row, with its place in the user's program: `loop_dynamic_update_slice_fusion (model.py:42)`.",
  "unrolled_place": "The hottest unrolled op, with the line that was unrolled: `copy_fusion (model.py:42)`.",
  "one_hot_op": "The op that takes most of the time in one_hot_fraction: `bag/Tensordot/MatMul:MatMul`.",
  "equal_state_place": "The largest collective that exchanges what is equal on all devices already, with its place in the user's program: `all-gather.161 (train.py:54)`.",
  "unfused_attention_place": "The costliest part of unfused attention, with its place in the user's program: `custom-call.3 (model.py:42)`.",
  "gathered_copy_place": "The costliest copy of an all-gather's result, with its place in the user's program: `loop_concatenate_fusion (model.py:42)`.",
  "one_operand_ops": "The products that multiply the same matrix, the costliest first: `dot.1, dot.2, dot.3`.",
  "one_operand_place": "The costliest product in one_operand_fraction, with its place in the user's program: `dot.1 (model.py:42)`.",
  "crooked_product_op": "The unaligned product (crooked_product_fraction) that takes most time: `custom-call.3`.",
  "crooked_product_place": "The unaligned product that takes most time, with its place in the user's program: `custom-call.3 (train.py:42)`.",
  "crooked_sides": "Sides and type of the unaligned product that takes most time: `4093 × 4093 by 4093 × 4093 in bf16`.",
  "straight_sides": "Sides to which to pad the unaligned product that takes most time: `4093 to 4096`.",
  "hottest_op": "The op that takes most compute time, with its share of it: `fusion.3 of jit_train_step, 38% of compute time`.",
  "hottest_op_place": "The hottest op with a known place in the user's program: `fusion.3 (train.py:42)`.",
  "step_programs": "The compiled programs that a step runs, with how often and their shares of compute time: `jit_evaluate 12 times a step, 71% of compute time; jit_train_step 1 times a step, 28% of compute time`.",
  "repeated_program": "The compiled program that runs at least twice as often as another of the step's and takes most compute time of such: `jit_evaluate`.",
  "repeated_program_use": "What repeated_program is for by its name: `evaluation`, or `unknown`.",
  "combine_threshold_bytes": "Bytes of all AllReduces of a step: the threshold at which XLA combines them into one message.",
  "collective_dtype": "Type of the data that the collectives spend most time on, as HLO names it: f32, bf16, f16 or another.",
  "exposed_collective_kind": "The kind of collective with the most exposed time: `all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `broadcast`, `send-recv` or `other`.",
  "combine_all_gather_bytes": "Bytes of the all-gathers of a step, or of one turn of the loop that runs them: the threshold at which XLA combines them into one message.",
  "combine_reduce_scatter_bytes": "Bytes of the reduce-scatters of a step, or of one turn of the loop that runs them: the threshold at which XLA combines them into one message.",
  "batch_factor_to_hide": "Factor by which the batch must grow until computation takes as long as communication: `3`. Absent where computation already takes longer.",
  "collective_activity": "What fills most of the breakdown class `collective`: the event, what the user's function calls of which it is a part, that function, the thread or device, and its share of the class. Absent below a tenth of step time.",
  "collective_place": "The innermost function of the user's program around what fills most of the breakdown class `collective`, or the line that its op comes from: `save (train.py:42)`. Needs Python frames, or HLO.",
  "transfer_activity": "What fills most of the breakdown class `transfer`: the event, what the user's function calls of which it is a part, that function, the thread or device, and its share of the class. Absent below a tenth of step time.",
  "transfer_place": "The innermost function of the user's program around what fills most of the breakdown class `transfer`, or the line that its op comes from: `save (train.py:42)`. Needs Python frames, or HLO.",
  "compile_activity": "What fills most of the breakdown class `compile`: the event, what the user's function calls of which it is a part, that function, the thread or device, and its share of the class. Absent below a tenth of step time.",
  "compile_place": "The innermost function of the user's program around what fills most of the breakdown class `compile`, or the line that its op comes from: `save (train.py:42)`. Needs Python frames, or HLO.",
  "input_activity": "What fills most of the breakdown class `input`: the event, what the user's function calls of which it is a part, that function, the thread or device, and its share of the class. Absent below a tenth of step time.",
  "input_place": "The innermost function of the user's program around what fills most of the breakdown class `input`, or the line that its op comes from: `save (train.py:42)`. Needs Python frames, or HLO.",
  "launch_activity": "What fills most of the breakdown class `launch`: the event, what the user's function calls of which it is a part, that function, the thread or device, and its share of the class. Absent below a tenth of step time.",
  "launch_place": "The innermost function of the user's program around what fills most of the breakdown class `launch`, or the line that its op comes from: `save (train.py:42)`. Needs Python frames, or HLO.",
  "host_activity": "What fills most of the breakdown class `host`: the event, what the user's function calls of which it is a part, that function, the thread or device, and its share of the class. Absent below a tenth of step time.",
  "host_place": "The innermost function of the user's program around what fills most of the breakdown class `host`, or the line that its op comes from: `save (train.py:42)`. Needs Python frames, or HLO.",
  "idle_activity": "What fills most of the breakdown class `idle`: the event, what the user's function calls of which it is a part, that function, the thread or device, and its share of the class. Absent below a tenth of step time.",
  "idle_place": "The innermost function of the user's program around what fills most of the breakdown class `idle`, or the line that its op comes from: `save (train.py:42)`. Needs Python frames, or HLO.",
  "steps_per_execution": "Number of steps to run per call so that Python between the calls takes less than 5% of the time, a power of two: `16`.",
  "steps_between_waits": "Number of steps between two waits, or two values read, at which the device stands idle for less than 5% of the time, a power of two: `16`.",
  "tiny_op_place": "The op, among the hottest that take less than 25 µs, that runs most often, with its place in the user's program: `loop_multiply_fusion (train.py:42)`.",
  "duplicate_file": "The first trace file that is a copy of another host's.",
  "unread_host": "The hosts whose trace files could not be read, each with the reason: `beta (is cut short: 12 of 90 bytes)`.",
  "step_source": "How the steps were found, on the least certain host: marker, module, launch-pattern, host-loop or whole-trace.",
  "steps_from": "What showed where the steps begin: `marker 'train'`.",
  "framework": "The framework that wrote the trace: tensorflow, jax, pytorch-xla or unknown.",
  "framework_version": "The framework's version: `0.6.2`. JAX writes its own, which is jaxlib's too.",
  "python_tracer": "Whether the profiler recorded Python frames: on or off.",
  "device_kind": "Kind of device that the run computed on: gpu, tpu or cpu.",
  "profiler_message": "The first error or warning that the profiler wrote into the trace, shortened.",
  "inferred_steps": "Whether steps had to be inferred: yes or no.",
  "busiest_device": "The device that computes most, on a host with several: `GPU:0 computes 8.1 ms per step, the others 5.0 ms on average`.",
  "gpu_vendor": "Vendor of the run's GPUs, in lower case: nvidia, amd or another. Old traces name none, and then it is nvidia.",
  "device_model": "The device's model, as the trace names it: `NVIDIA H100`.",
  "keras_sign": "The name in the trace that proves Keras' own training loop: `EagerLocalExecute: __inference_one_step_on_data_310`.",
  "py_dataset_sign": "The name in the trace that proves that Keras takes its batches from a PyDataset, or a Sequence in Keras 2: `py_dataset_adapter.py:241 get`.",
  "unrecorded_device": "What on a host shows that an accelerator worked although the trace holds none of its events, as a clause: `the allocator GPU_0_bfc gave out memory`.",
  "late_host": "The host that the others wait for most in collectives.",
  "late_device": "The device that the others of its host wait for most in collectives, with the host's name where there are several: `GPU:3`.",
  "late_host_reason": "What the late host spends more time on than the others: `loading input 62% of its step time, the others 1.0%`.",
  "late_host_class": "The class of step time of which the late host has more than the others: input, compute, host, launch, compile, transfer or idle.",
  "late_host_frame": "The call of the late host's training loop that takes most of its extra time: `load_batch (train.py:25)`.",
  "copy_direction": "Direction that takes most of the copying time: in (host to device), out (device to host) or within (on the device and between devices).",
  "copied_op": "The op of the program that the longest copies belong to: `copy.5 of jit_train_step`.",
  "hideable_copies": "Direction that takes most of the copying time that could be hidden or left out: in (host to device), out (device to host) or within (on the device and between devices).",
  "batch_factor": "Factor by which the batch could grow as far as memory goes, a lower bound: 90% of the memory over the peak, `3`. Absent below 1.5, and without steps, whose peak the trace may lack.",
  "host_frame": "The call of the training loop that takes most host time, with its place: `log_metrics (train.py:57)`. For a call of a library it is the user's own function below it, else the one that makes the call.",
  "host_frame_runs_step": "Whether host_frame is the training step itself, known by the step's dispatch inside it: yes or no.",
  "host_frames": "The calls of the training loop that take most host time, with their shares of step time: `log_metrics 31%, save 4.0%`.",
  "host_op_types": "The op types that take most time on the host of an accelerator run: `Unique, StringSplit`.",
  "python_in_step_op": "The op through which the compiled step calls Python: `EagerPyFunc`, `pure_callback`.",
  "interpreted_function": "A jitted function that Python nevertheless runs op by op, as under jax_disable_jit: `train_step`.",
  "pipeline_built": "The part of a tf.data pipeline that Python builds inside the steps: `dataset`, or only an `iterator` of one.",
  "recompiled_function": "The function whose compilation takes most of the counted steps' time: `train_step`.",
  "recompiled_arguments": "Whether the programs of that function take arrays of the same types and dimensions: same or differ. The same means that a Python value changed, or that the function itself is made anew.",
  "input_stage": "The slowest tf.data stage, as the trace names it: `Map (MapDataset:1)`.",
  "input_stage_path": "Path from the root of the tf.data pipeline to its slowest stage: `Prefetch > Batch > Map`.",
  "generator_yields_batches": "Whether the tf.data pipeline's generator gives whole batches, since no stage behind it makes any: yes or no. A PyDataset, or a generator handed to Keras, does.",
  "input_stage_fault": "The fault of the slowest tf.data stage, which decides the edit: python-function, sequential-map, per-element-map, parallel-map, generator, source, small-files, parsed-text, shuffle-refill, batch or other.",
  "input_root": "The stage at the root of the tf.data pipeline: prefetch, injected-prefetch (put there by tf.data), background (a parallel map, which buffers too) or none.",
  "input_last_stage": "The stage of the tf.data pipeline that hands batches to the step: `Map (MapDataset:3)`.",
  "input_autotune": "Whether tf.data tunes the pipeline's parallelism and buffers itself: on, off or unknown.",
  "input_stages": "The stages of the tf.data pipeline with their work per step, the costliest first: `Map 4.2 ms, Batch 0.3 ms`.",
  "most_frequent_op": "The op type that runs most often per step, with its number and mean length: `Mul, 1,200 times per step, 1.4 µs each`.",
  "repeated_op": "The op type that takes most of the time in repeated_op_fraction, with its number and mean length: `StridedSliceGrad, 552 times per step, 28.4 µs each`.",
  "compiler": "Compiler of what the devices run: xla when any device event belongs to an XLA module, else none.",
  "input_frame": "The call of the training loop that spends most time loading data, with its place: `load_batch (train.py:42)`. For a call of a library it is the user's own function below it, else the one that makes the call.",
  "input_frame_inner": "The call in which the loading call spends most of its time, as the Python tracer names it: `time sleep`.",
  "batch_making_place": "The user's function in which these threads spend most of that time: `__getitem__ (data.py:39)`.",
};

export const METRIC_GROUPS: Record<string, string> = {
  "fp16_kernel_share": "kernels",
  "bf16_kernel_share": "kernels",
  "fp8_kernel_share": "kernels",
  "tf32_kernel_share": "kernels",
  "fp32_kernel_share": "kernels",
  "fp64_kernel_share": "kernels",
  "unknown_precision_share": "kernels",
  "matrix_kernel_share": "kernels",
  "unknown_matrix_precision_share": "kernels",
  "tensor_core_kernel_share": "kernels",
  "fp32_matrix_share": "kernels",
  "fp32_matrix_compute_fraction": "kernels",
  "layout_conversion_fraction": "kernels",
  "layout_conversions_per_step": "kernels",
  "cumulative_op_fraction": "kernels",
  "gather_fraction": "kernels",
  "slice_copy_fraction": "kernels",
  "concatenation_fraction": "kernels",
  "elementwise_fraction": "kernels",
  "matrix_free_share": "kernels",
  "fallback_kernel_fraction": "kernels",
  "generic_product_fraction": "kernels",
  "untuned_convolution_fraction": "kernels",
  "decomposition_fraction": "kernels",
  "sort_fraction": "kernels",
  "argument_copy_fraction": "kernels",
  "largest_op_fraction": "compute",
  "largest_layer_fraction": "compute",
  "largest_op_type_fraction": "compute",
  "largest_line_fraction": "compute",
  "largest_op_speed": "compute",
  "dense_gradient_fraction": "compute",
  "dense_update_fraction": "compute",
  "dense_sum_fraction": "compute",
  "text_op_fraction": "compute",
  "printing_op_fraction": "compute",
  "uneven_replica_fraction": "compute",
  "double_precision_fraction": "kernels",
  "long_filter_fraction": "kernels",
  "long_filter_elements": "kernels",
  "looped_updates_per_step": "kernels",
  "looped_slice_copy_fraction": "kernels",
  "scatter_loop_fraction": "kernels",
  "looped_matrix_free_share": "kernels",
  "looped_row_product_share": "kernels",
  "unrolled_fraction": "kernels",
  "unrolled_copies": "kernels",
  "one_hot_fraction": "kernels",
  "unfused_attention_fraction": "kernels",
  "gathered_copy_fraction": "kernels",
  "one_operand_fraction": "kernels",
  "one_operand_us": "kernels",
  "crooked_product_fraction": "kernels",
  "flops_utilization": "kernels",
  "memory_bandwidth_utilization": "kernels",
  "model_parameters": "kernels",
  "repeated_program_runs_per_step": "kernels",
  "repeated_program_fraction": "kernels",
  "collectives_per_step": "collectives",
  "exposed_collective_fraction": "collectives",
  "collective_overlap_fraction": "collectives",
  "collective_wait_fraction": "collectives",
  "exposed_transfer_fraction": "collectives",
  "allreduce_ms_per_step": "collectives",
  "allreduce_transfer_ms_per_step": "collectives",
  "allreduce_bytes_per_step": "collectives",
  "allreduce_ideal_ms": "collectives",
  "allreduce_ring_ideal_ms": "collectives",
  "allreduce_efficiency": "collectives",
  "allreduce_bus_gb_s": "collectives",
  "collective_message_bytes": "collectives",
  "allreduce_latency_us": "collectives",
  "allreduce_fitted_gb_s": "collectives",
  "exposed_all_reduce_fraction": "collectives",
  "exposed_weight_gather_fraction": "collectives",
  "exposed_permute_fraction": "collectives",
  "exposed_between_products_fraction": "collectives",
  "exposed_equal_state_fraction": "collectives",
  "exposed_rest_fraction": "collectives",
  "collective_repeats_per_step": "collectives",
  "communication_fraction": "collectives",
  "taking_turns_fraction": "time",
  "step_time_ms": "time",
  "steps_counted": "time",
  "step_time_spread": "time",
  "inter_step_gap_ms": "time",
  "inter_step_gap_fraction": "time",
  "waits_per_step": "time",
  "turnaround_fraction": "time",
  "synchronise_calls_per_step": "time",
  "synchronise_ms_per_step": "time",
  "loss_scaling_ops_per_step": "time",
  "input_bound_fraction": "time",
  "host_fraction": "time",
  "kernel_launch_gap_fraction": "time",
  "compile_fraction": "time",
  "transfer_fraction": "time",
  "compute_fraction": "time",
  "idle_fraction": "time",
  "device_busy_fraction": "time",
  "dropped_events": "trace",
  "profiler_errors": "trace",
  "step_confidence": "trace",
  "first_steps_set_aside": "trace",
  "silent_accelerators": "trace",
  "duplicate_host_files": "trace",
  "unread_host_files": "trace",
  "device_skew_fraction": "trace",
  "op_count_skew": "trace",
  "device_concurrency_fraction": "trace",
  "launch_stagger_fraction": "trace",
  "host_count": "trace",
  "devices_per_host": "trace",
  "compute_capability": "trace",
  "lost_launches_fraction": "trace",
  "lost_runs_fraction": "trace",
  "capture_work_ms": "trace",
  "unnamed_op_share": "trace",
  "host_skew_fraction": "collectives",
  "late_host_share": "collectives",
  "late_device_share": "collectives",
  "late_host_fraction": "collectives",
  "late_device_fraction": "collectives",
  "uneven_work_fraction": "collectives",
  "h2d_ms_per_step": "copies_and_memory",
  "d2h_ms_per_step": "copies_and_memory",
  "d2d_ms_per_step": "copies_and_memory",
  "h2d_bytes_per_step": "copies_and_memory",
  "d2h_bytes_per_step": "copies_and_memory",
  "d2d_bytes_per_step": "copies_and_memory",
  "d2h_copies_per_step": "copies_and_memory",
  "h2d_gb_s": "copies_and_memory",
  "d2h_gb_s": "copies_and_memory",
  "p2p_ms_per_step": "copies_and_memory",
  "p2p_bytes_per_step": "copies_and_memory",
  "host_copies_per_step": "copies_and_memory",
  "host_copy_bytes": "copies_and_memory",
  "pageable_copy_share": "copies_and_memory",
  "hideable_copy_fraction": "copies_and_memory",
  "unhideable_copy_fraction": "copies_and_memory",
  "array_handing_fraction": "copies_and_memory",
  "peak_memory_fraction": "copies_and_memory",
  "peak_memory_bytes": "copies_and_memory",
  "memory_capacity_bytes": "copies_and_memory",
  "memory_fragmentation": "copies_and_memory",
  "allocations_per_step": "copies_and_memory",
  "memory_calls_per_step": "copies_and_memory",
  "memory_call_fraction": "copies_and_memory",
  "memory_pool_fraction": "copies_and_memory",
  "host_op_share": "host",
  "python_in_step_fraction": "host",
  "loop_python_fraction": "host",
  "batch_python_fraction": "host",
  "perhaps_batch_python_fraction": "host",
  "loop_python_ms_per_step": "host",
  "eager_dispatch_fraction": "host",
  "eager_step_share": "host",
  "crowded_launch_fraction": "host",
  "file_writing_fraction": "host",
  "file_writes_per_step": "host",
  "pipeline_building_fraction": "host",
  "pipeline_building_step_share": "host",
  "loop_iterations_per_step": "host",
  "synchronising_fraction": "host",
  "wait_fraction": "host",
  "retraces_in_steady_state": "host",
  "input_stage_ms_per_step": "host",
  "input_stage_calls_per_step": "host",
  "input_stage_parallelism": "host",
  "input_wait_ms_per_step": "host",
  "input_overlap_fraction": "host",
  "input_hideable_fraction": "host",
  "input_files_per_step": "host",
  "input_refill_fraction": "host",
  "input_refills": "host",
  "kernel_launch_latency_us": "host",
  "kernel_launch_latency_us_p95": "host",
  "kernel_queue_us": "host",
  "queued_kernel_fraction": "host",
  "graph_kernel_share": "host",
  "graph_launches_per_step": "host",
  "launch_between_kernels_fraction": "host",
  "repeated_op_fraction": "host",
  "tiny_op_fraction": "host",
  "tiny_kernel_fraction": "host",
  "small_kernel_share": "host",
  "kernels_per_step": "host",
  "median_kernel_us": "host",
  "dispatches_per_step": "host",
  "eager_op_share": "host",
  "batch_making_threads": "host",
  "loader_wait_share": "host",
  "input_core_share": "host",
  "input_busy_threads": "host",
};
