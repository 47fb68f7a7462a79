"""What a page draws: the report, and beside it what only a drawing needs. Times in ms
unless their name says ns.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt

from tfadvisor.report.model import Op, Report
from tfadvisor.vocabulary import LaneRole, WhichStep

Column = npt.NDArray[np.int64]


class LaneInfo(msgspec.Struct, frozen=True):
    """One lane of a drawn step. role: "classes", "stream", "driver" or "thread";
    device: "" on the host.

    around: calls that enclose the whole step. deeper: events nested too deep to be
    drawn.
    """

    role: LaneRole
    device: str
    name: str
    around: tuple[str, ...]
    deeper: int


class DrawnHead(msgspec.Struct, frozen=True):
    """Which step is drawn at once; its events are packed. which, index, span_ns: as
    DrawnStep has them.
    """

    host: str
    which: WhichStep
    index: int
    span_ns: int


class DrawnStep(msgspec.Struct, frozen=True):
    """A step with its events; which: "median", "worst" or "other". index: of the step,
    as in the report.

    at_ns: its start on the clock of the first host, None where the clocks are not
    aligned.

    One row an event or block in every column. start, length, busy: ns, start from the
    step's. kind: place in the page's classes. name: index into names, -1 of a block and
    of classes. events: how many a block stands for; busy: how long they run.
    launch: of what a device ran the row of the call that launched it, -1 where there is
    none.
    """

    host: str
    which: WhichStep
    index: int
    at_ns: int | None
    span_ns: int
    lanes: tuple[LaneInfo, ...]
    lane: Column
    depth: Column
    start: Column
    length: Column
    kind: Column
    name: Column
    events: Column
    busy: Column
    launch: Column
    names: tuple[str, ...]
    threads_left_out: int


class CollectiveRow(msgspec.Struct, frozen=True):
    """One collective of the program over all devices and counted steps. None where not
    known.
    """

    name: str
    """Its HLO name, else its kernel's."""
    kind: str
    """What is exchanged: all-reduce, all-gather, …"""
    bytes: int | None
    """Of the whole message."""
    group: int | None
    """How many devices exchange it."""
    devices: int
    """How many devices of the run were seen in it."""
    count_per_step: float
    """Calls a step and device."""
    median_ms: float
    """Median length of a call, waiting included, ms."""
    ms_per_step: float
    """Summed length a step and device, ms."""
    exposed: float
    """Share of its time that no computation hides, 0..1."""
    wait_ms: float | None
    """Mean time that a device waits in a call for the last to arrive, the median over
    the calls, ms.
    """
    bus_gb_s: float | None
    """Bytes that a ring sends over the median call without waiting, GB/s."""


class DeviceRow(msgspec.Struct, frozen=True):
    """One active device over the counted steps in which it takes part."""

    host: str
    """The host's name."""
    name: str
    """`GPU:0`."""
    kind: str
    """gpu, tpu or cpu."""
    model: str
    """What the trace calls it, "" when it does not."""
    steps: int
    """How many counted steps it takes part in."""
    class_ms: Mapping[str, float]
    """Mean time a step by class, ms."""
    step: tuple[int, ...]
    """Of each counted step its index, or of every n-th where there are many."""
    compute_ms: tuple[float, ...]
    """The same steps' compute time, ms."""
    wait_ms: float | None
    """Mean time a step that it waits in collectives for the last device to arrive, ms;
    None where not known.
    """
    last_share: float | None
    """Share of the counted steps' collectives in which it arrives last; None where not
    known.
    """


class StageRow(msgspec.Struct, frozen=True):
    """One stage of an input pipeline. path: from the consumer, `Prefetch::Map`.
    ms_per_step: its own work; wall_ms: what that takes at least with its parallelism.
    """

    path: str
    kind: str
    name: str
    calls_per_step: float
    ms_per_step: float
    wall_ms: float
    parallelism: int
    python: bool
    settings: Mapping[str, str]


class PipelineInfo(msgspec.Struct, frozen=True):
    """The input pipeline of one host."""

    host: str
    stages: tuple[StageRow, ...]


class CallRow(msgspec.Struct, frozen=True):
    """A Python call of the training loop, per counted step."""

    host: str
    place: str
    inner: str
    calls_per_step: float | None
    """None for a line that samples name: nobody counts how often it is called."""
    host_ms: float
    input_ms: float


class CopyRow(msgspec.Struct, frozen=True):
    """Copies between host and devices one way, per counted step and device."""

    way: str
    """`host to device`."""
    ms_per_step: float
    """Time in which one of them runs, ms."""
    bytes_per_step: float | None
    """None where the trace does not say how large they are."""
    gb_s: float | None
    """Their rate in that time."""
    meaning: str
    """What that rate says; "" where nothing known does."""
    line: str
    """`train.py:42`, "" where the trace does not tell."""


class PartRow(msgspec.Struct, frozen=True):
    """One op of a program on all devices, per counted step and device. "" for what the
    trace does not tell.
    """

    name: str
    module: str
    """The compiled program."""
    layer: str
    """`model/dense`."""
    op_type: str
    line: str
    """`train.py:42`."""
    stack: str
    """Lines of the program that lead to it, outermost first, one a line."""
    ms_per_step: float
    """Its time, ms."""
    count_per_step: float
    flops: float | None
    """Of all its executions in a step, by shapes."""
    bytes: float | None
    """Read and written by all its executions in a step, by shapes."""


class PeaksInfo(msgspec.Struct, frozen=True):
    """What one device could do at most."""

    device: str
    flops: float | None
    """16-bit matrix operations per second, None when the trace does not give it."""
    bytes_per_s: float | None
    """Of device memory, None when the trace does not give it."""


class ExcerptRow(msgspec.Struct, frozen=True):
    """The HLO of one op. op, kernel, module: as the ops name it, "" for what it does
    not have.
    """

    op: str
    kernel: str
    module: str
    text: str
    operands: tuple[str, ...]
    """Name, opcode and shape, one a line."""
    users: tuple[str, ...]
    """Name, opcode and shape, one a line."""
    more: int
    """How many further neighbours there are."""


class BlockRow(msgspec.Struct, frozen=True):
    """Memory that an op holds at an allocator's peak. "" for what the trace does not
    tell.
    """

    op: str
    region: str
    shape: str
    bytes: int
    since_ms: float


class MemoryInfo(msgspec.Struct, frozen=True):
    """One allocator over the trace. at_ms, bytes: what is given out from each instant
    on.
    """

    host: str
    allocator: str
    at_ms: tuple[float, ...]
    bytes: tuple[int, ...]
    peak_ms: float
    peak_bytes: int
    """In this trace."""
    highest_bytes: int
    """Since the program began."""
    capacity_bytes: int
    live: tuple[BlockRow, ...]
    """At the peak, the largest first."""
    unseen_bytes: int
    """At the peak, taken before the trace or too small to be listed."""


class BufferRow(msgspec.Struct, frozen=True):
    """One value in memory when a program needs most."""

    kind: str
    """argument, output, constant or temporary."""
    name: str
    """Of the instruction that makes it."""
    opcode: str
    shape: str
    bytes: int
    line: str
    """`train.py:42`, "" where the HLO does not tell."""
    op_name: str
    """The framework's path, or the argument's name."""


class ProgramMemoryInfo(msgspec.Struct, frozen=True):
    """What one program needs on one device, by the compiler's plan."""

    program: str
    bytes: int
    bytes_of: Mapping[str, int]
    """By kind of buffer."""
    buffers: tuple[BufferRow, ...]
    """The largest first."""
    left_out: int
    """How many smaller ones there are."""


class PageData(msgspec.Struct, frozen=True):
    """One run. ops: as the report's, but more of them. hosts_left_out: of the steps
    that are drawn at once.

    more: further steps, which few readers look at. The page's data holds the events of
    all steps packed.
    """

    report: Report
    ops: tuple[Op, ...]
    collectives: tuple[CollectiveRow, ...]
    devices: tuple[DeviceRow, ...]
    pipelines: tuple[PipelineInfo, ...]
    calls: tuple[CallRow, ...]
    drawn: tuple[DrawnStep, ...]
    hosts_left_out: int
    more: tuple[DrawnStep, ...] = ()
    parts: tuple[PartRow, ...] = ()
    peaks: PeaksInfo = PeaksInfo("", None, None)
    excerpts: tuple[ExcerptRow, ...] = ()
    memory: tuple[MemoryInfo, ...] = ()
    programs: tuple[ProgramMemoryInfo, ...] = ()
    copies: tuple[CopyRow, ...] = ()
    metric_modules: Mapping[str, str] = {}
    """Metric -> the module that defines it."""
    facts: Mapping[str, str] = {}
    """Fact that is evidence of a finding -> its definition."""


class CauseRow(msgspec.Struct, frozen=True):
    """A part of the change between two runs, ms a step. class_name: "" of what is left
    over. words: for a reader.
    """

    change_ms: float
    class_name: str
    words: str


class ComparedRuns(msgspec.Struct, frozen=True):
    """Where the change of the step time comes from. new, base: places of the runs in
    the page.

    causes: they add up to the change. beside: what speaks for them. differences: why
    the runs are not quite alike.
    """

    new: int
    base: int
    summary: str
    change_ms: float
    causes: tuple[CauseRow, ...]
    beside: tuple[str, ...]
    differences: tuple[str, ...]
