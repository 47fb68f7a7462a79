"""The report: one frozen object, the product. Every output reads it and nothing else.

`to_dict` is the JSON schema, version "1"; fields may be added, never renamed or removed
under the same version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tfadvisor.advice.findings import (
    Broken,
    CaptureNote,
    Finding,
    NotApplicable,
    Passed,
    Plan,
    Verdict,
)
from tfadvisor.causes import Cause, RunAccount
from tfadvisor.printable import plain
from tfadvisor.vocabulary import Better, Scatter, Severity

SCHEMA_VERSION = "1"


class Tool(msgspec.Struct, frozen=True):
    """Who wrote the report."""

    name: str
    """`tfadvisor`."""
    version: str
    """Its version."""


class DeviceInfo(msgspec.Struct, frozen=True):
    """One device that worked in the run."""

    name: str
    """`GPU:0`, counted on its host."""
    kind: str
    """gpu, tpu or cpu."""
    model: str
    """What the trace calls it, "" when it does not."""
    host: str
    """The host that it belongs to, as in `run.hosts`."""


class RunInfo(msgspec.Struct, frozen=True):
    """What was analysed."""

    path: str
    """The run's folder, or its file."""
    name: str
    """As TensorBoard's profile plugin calls it."""
    hosts: tuple[str, ...]
    """The machines that recorded, by the names of their files."""
    devices: tuple[DeviceInfo, ...]
    """Those that worked in the run."""
    framework: str
    """tensorflow, jax, pytorch-xla or unknown."""
    framework_version: str | None
    """None where the trace does not tell."""
    captured_at: str | None
    """ISO time in UTC, None where the trace does not tell."""
    window_ms: float
    """From the first event to the last, ms."""
    python_calls: bool = False
    """Whether calls of Python functions were recorded: without them loading looks like
    other Python.
    """
    silent: tuple[str, ...] = ()
    """The accelerators without an event, by model or by what the trace says of their
    hardware.
    """


class StepTimes(msgspec.Struct, frozen=True):
    """Periods of the counted steps, start to start."""

    mean: float
    """ms."""
    median: float
    """ms."""
    p95: float
    """ms: 95% of the steps take no longer."""
    min: float
    """ms."""
    max: float
    """ms."""
    stdev: float
    """Standard deviation, ms."""


class StepInfo(msgspec.Struct, frozen=True):
    """One counted step."""

    index: int
    """Among all steps of its host, from 0."""
    name: str
    """As the program marked it, or made from the index."""
    host: str
    """The host that ran it."""
    start_ms: float
    """Since the recording began, ms."""
    duration_ms: float
    """Its period, start to start, ms."""
    breakdown: Mapping[str, float]
    """Share of its period per class, mean over the devices."""


class SetAsideStep(msgspec.Struct, frozen=True):
    """A step that does not count, and why: compiling, warm-up or cut-off."""

    index: int
    """Among all steps of its host, from 0."""
    name: str
    """As the program marked it, or made from the index."""
    host: str
    """The host that ran it."""
    duration_ms: float
    """Its period, ms."""
    reason: str
    """Why it does not count: compiling, warm-up or cut-off."""


class StepsInfo(msgspec.Struct, frozen=True):
    """The counted steps."""

    count: int
    """How many, on the host that has most."""
    source: str
    """How they were found: marker, module, launch-pattern, host-loop or whole-trace."""
    confidence: float
    """That these are the program's steps, 0..1."""
    about: str
    """How the steps were detected."""
    time_ms: StepTimes | None
    """None without a counted step."""
    each: tuple[StepInfo, ...]
    """Those of all hosts."""
    set_aside: tuple[SetAsideStep, ...]
    """Those that do not count."""


class MetricValue(msgspec.Struct, frozen=True):
    """A metric's number, or None and the reason."""

    value: float | None
    """In `unit`."""
    unit: str
    """fraction, ms, us, bytes, count or GB/s."""
    reason: str | None
    """Why there is no value, None with one."""
    about: str
    """Its definition."""
    better: Better = Better.LESS
    """Which way it improves; neither where it only describes."""
    scatter: Scatter = Scatter.FACTOR
    """How it differs between runs of one unchanged program: exact, counted, share or
    factor.
    """


_AS_KERNEL = str.maketrans(".-", "__")


class Op(msgspec.Struct, frozen=True):
    """What ran on the devices, per counted step and device: an op of a compiled
    program, a kernel, a copy.

    None where the trace does not tell.
    """

    op: str | None
    """Its HLO name, else the framework's: `model/conv1/Conv2D`."""
    kernel: str
    """What the device ran for it; the op's own name where the device has no kernels."""
    module: str | None
    """The compiled program that it belongs to."""
    kind: str
    """compute, collective, h2d, d2h, d2d, p2p, other_copy, memset or infeed."""
    share: float
    """Of all device time, 0..1."""
    ms_per_step: float
    """Its time a step and device, ms."""
    count_per_step: float
    """How often it runs a step and device."""
    precision: str | None
    """Of a GPU's kernel by its name, else by what its op multiplies; "unknown" where
    neither says.
    """
    opcode: str | None
    """Of its HLO instruction."""
    flops: int | None
    """Of one execution, by shapes."""
    bytes: int | None
    """Read and written by one execution, by shapes."""
    file: str | None
    """Of the user's program, without its folder."""
    line: int | None
    """In that file."""
    grid: tuple[int, ...] | None = None
    """Blocks in x, y, z of a GPU kernel's launch; of several ways to launch it the one
    that takes most time.
    """
    block: tuple[int, ...] | None = None
    """Threads of a block in x, y, z."""
    registers: int | None = None
    """Of a thread."""
    shared_bytes: int | None = None
    """Memory that the threads of a block share."""
    occupancy: float | None = None
    """Warps that a multiprocessor can hold at once of this kernel, over those that it
    has room for, 0..1.
    """
    launch_ways: int | None = None
    """How many different launches there are."""
    shape: str | None = None
    """Of its result, with its layout: `f32[96,256]{1,0}`."""
    tensor_cores: bool | None = None
    """Whether a GPU's kernel uses Tensor Cores (AMD: matrix cores); None where neither
    its name nor the HLO tells.
    """

    @property
    def name(self) -> str:
        """The op's, else the kernel's."""
        return self.op or self.kernel

    @property
    def other_kernel(self) -> str:
        """The kernel's name where it is not made of the op's, as XLA makes `fusion_3`
        of `fusion.3`; else "".
        """
        own = (
            self.kernel.partition(" = ")[0]
            .removeprefix("%")
            .removesuffix(".kd")
            .translate(_AS_KERNEL)
        )
        if own == self.name.translate(_AS_KERNEL) or not self.op:
            return ""
        return self.kernel


class Place(msgspec.Struct, frozen=True):
    """Where something happens; "" for what the trace does not tell."""

    file: str
    """Of the user's program, without its folder."""
    line: int | None
    """In that file."""
    function: str
    """The user's own, or the compiled one that is called."""
    stage: str
    """Of a tf.data pipeline: `Prefetch::ParallelMap`."""
    layer: str
    """The framework's scope: `model/dense`."""
    op: str
    """The op of a compiled program, or TensorFlow's."""
    kernel: str
    """What the device runs."""


class PlacedTime(msgspec.Struct, frozen=True):
    """One call, op or event inside an activity."""

    activity: str
    """Its name; `other` for all that is too small to list, the last of its list."""
    fraction: float
    """Of the step, 0..1."""
    ms: float
    """Its time in the step of median length, ms."""
    places: tuple[Place, ...]
    """Where it happens, the place that takes most first; at most three."""


class ActivityTime(msgspec.Struct, frozen=True):
    """One activity in the time of a class: a kind of op, a kind of collective, a Python
    function, a stage of the pipeline.
    """

    activity: str
    """Its name; `other` as above, `not recorded: …` for time of which the trace names
    nothing.
    """
    fraction: float
    """Of the step, 0..1."""
    ms: float
    """Its time in the step of median length, ms."""
    places: tuple[Place, ...]
    """Where most of it happens; at most three."""
    parts: tuple[PlacedTime, ...]
    """What it consists of; they add up to it. Empty where the trace names no parts."""
    cause: Cause | msgspec.UnsetType = msgspec.UNSET
    """What this time is spent on, how it is tied to the step, and how often; absent of
    what devices do, and where nothing of it is recorded.
    """


class ClassTime(msgspec.Struct, frozen=True):
    """One class of step time, as in `breakdown`."""

    kind: str = msgspec.field(name="class")
    """Its name."""
    fraction: float
    """Of the step, 0..1."""
    ms: float
    """Its time in the step of median length, ms."""
    parts: tuple[ActivityTime, ...]
    """What it consists of, the largest first; they add up to it."""


class LineCost(msgspec.Struct, frozen=True):
    """What one line of the program costs."""

    line: int
    """In its file, from 1."""
    fraction: float
    """Of the step, 0..1."""
    classes: Mapping[str, float]
    """The same by class; they add up to it."""
    dispatches: float | None
    """Programs and ops that the line dispatches in a step; None where no event
    tells.
    """


class SourcePart(msgspec.Struct, frozen=True):
    """Lines of a file that follow each other."""

    first: int
    """Number of the first one."""
    lines: tuple[str, ...]
    """Without their ends."""


class AnnotatedFile(msgspec.Struct, frozen=True):
    """A file of the program with what its lines cost. Of what a called function does,
    the line that calls it bears only what is in no line of the program itself.
    """

    file: str
    """Without its folder."""
    state: str
    """Whether it is what ran: same, differs or unknown."""
    fraction: float
    """Of the step, all its lines together, 0..1."""
    costs: tuple[LineCost, ...]
    """Those that take any time, by line."""
    parts: tuple[SourcePart, ...]
    """The whole of a short file; of a longer one the functions that take time."""


class LimitGap(msgspec.Struct, frozen=True):
    """Time of the step beyond what the devices need at least, by what it is
    spent on.
    """

    what: str
    """A kind of op, or a class of time in which the devices do not compute."""
    ms: float
    """Above the least time, ms."""
    takes_ms: float
    """With the least time, ms."""
    limit: str | None
    """Of the kind of op: `memory bandwidth` or `arithmetic`, whichever takes longer;
    None where its cost is not known, and of time without computing.
    """
    reached: float | None
    """Share of that limit, 0..1; None as above."""
    places: tuple[Place, ...]
    """Where most of it happens; at most three."""


class SpeedOfLight(msgspec.Struct, frozen=True):
    """What the step would take if each op took the least time that its device needs for
    its bytes and operations, and nothing else took any.
    """

    fraction: float
    """Of the step, 0..1."""
    ms: float
    """Of the step of median length, ms."""
    gaps: tuple[LimitGap, ...]
    """What is above it, the largest first; with `ms` they add up to the step."""


class GpuInfo(msgspec.Struct, frozen=True):
    """One GPU as its driver reported while the trace was recorded; None and "" where it
    does not.
    """

    name: str
    """Its model."""
    driver: str
    """Version."""
    utilization: float | None
    """Share of the time in which a kernel ran on it, 0..1."""
    clock_mhz: float | None
    """Of its multiprocessors, a mean."""
    highest_clock_mhz: float | None
    """That they can have."""
    power_limit_w: float | None
    """That holds."""
    usual_power_limit_w: float | None
    """That it is shipped with."""
    slowed_by: tuple[str, ...]
    """Faults that held its clock down."""


class MachineInfo(msgspec.Struct, frozen=True):
    """How a recorded machine was set; None and empty where it does not tell. What it
    did is in `metrics`.
    """

    host: str
    """As in `run.hosts`."""
    cores: int | None
    """Of the machine."""
    allowed_cores: int | None
    """That the process may run on."""
    quota_cores: float | None
    """How many cores' time its control groups allow."""
    memory_bytes: int | None
    """Of the machine."""
    versions: Mapping[str, str]
    """Of Python and the frameworks."""
    variables: Mapping[str, str]
    """TF_*, XLA_*, JAX_*, OMP_*, NCCL_* and CUDA_* of the program's environment, but
    none that may be secret.
    """
    threads: Mapping[str, int]
    """Sizes of TensorFlow's pools that the program has set."""
    gpus: tuple[GpuInfo, ...]
    """Of the machine."""


class Report(msgspec.Struct, frozen=True):
    """Everything that one analysis found. ops: the hottest first.

    findings: the largest saving first; those of preview rules after the others,
    questions last.
    """

    tool: Tool
    """Who wrote it."""
    run: RunInfo
    """What was analysed."""
    steps: StepsInfo
    """The counted steps, and those set aside."""
    breakdown: Mapping[str, float]
    """Share of step time per class; they add up to 1."""
    verdict: Verdict
    """What costs most."""
    metrics: Mapping[str, MetricValue]
    """By name."""
    findings: tuple[Finding, ...]
    """What to change."""
    not_applicable: tuple[NotApplicable, ...]
    """Rules that the trace cannot decide."""
    capture: tuple[CaptureNote, ...]
    """What is wrong with the trace itself."""
    broken: tuple[Broken, ...] = ()
    """Rules and metrics that failed."""
    passed: tuple[Passed, ...] = ()
    """What was looked at and is no cost here."""
    ops: tuple[Op, ...] = ()
    """What ran on the devices."""
    attribution: tuple[ClassTime, ...] = ()
    """Where the step goes: the classes that take any time, the largest first, each in
    activities and places. They add up to the step; an instant in which several ops run
    is shared among them."""
    attribution_absent: str | None = None
    """Why there is none; None where there is."""
    speed_of_light: SpeedOfLight | None = None
    """The least time that the devices need for the step, and what is above it."""
    speed_of_light_absent: str | None = None
    """Why that is not known; None where it is."""
    source: tuple[AnnotatedFile, ...] | msgspec.UnsetType = msgspec.UNSET
    """The program's lines with what they cost, the costliest file first; absent where
    its files are neither noted beside the trace nor given.
    """
    machines: tuple[MachineInfo, ...] | msgspec.UnsetType = msgspec.UNSET
    """The recorded machines; absent where nothing was counted beside the trace."""
    plan: Plan | msgspec.UnsetType = msgspec.UNSET
    """The findings together; absent unless two or more save something."""
    run_account: RunAccount | None = None
    """Where the time of the whole run goes, since its first step."""
    run_account_absent: str | None = None
    """Why that is not known; None where it is."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first. Numbers are finite."""
        whole: dict[str, Any] = plain(self)
        return {"schema_version": SCHEMA_VERSION, **whole}

    def worst(self) -> Severity | None:
        """The highest severity among the findings on which a verdict may rest, None
        without any.
        """
        found = (finding.severity for finding in self.findings if finding.bears_verdict)
        return max(
            found,
            key=lambda severity: severity.rank,
            default=None,
        )
