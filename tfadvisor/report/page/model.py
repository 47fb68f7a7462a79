"""What a page draws: the report, and beside it what only a drawing needs. Times in ms unless their name says ns."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt

from tfadvisor.report.model import Op, Report

Column = npt.NDArray[np.int64]


class LaneInfo(msgspec.Struct, frozen=True):
    """One lane of a drawn step. role: "classes", "stream", "driver" or "thread"; device: "" on the host.

    around: calls that enclose the whole step. deeper: events nested too deep to be drawn.
    """

    role: str
    device: str
    name: str
    around: tuple[str, ...]
    deeper: int


class DrawnStep(msgspec.Struct, frozen=True):
    """A step with its events; which: "median" or "worst". index: of the step, as in the report.

    One row an event or block in every column. start, length, busy: ns, start from the step's. kind: place in the page's
    classes. name: index into names, -1 of a block and of classes. events: how many a block stands for; busy: how long
    they run.
    """

    host: str
    which: str
    index: int
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
    names: tuple[str, ...]
    threads_left_out: int


class CollectiveRow(msgspec.Struct, frozen=True):
    """One collective of the program over all devices and counted steps.

    bytes: of the whole message, group: devices that exchange it, wait_ms: mean time a device waits in a call for the last
    to arrive, bus_gb_s: of the median call without waiting, by the bytes that a ring sends; None where not known.
    exposed: share of its time that no computation hides.
    """

    name: str
    kind: str
    bytes: int | None
    group: int | None
    devices: int
    count_per_step: float
    median_ms: float
    fastest_ms: float
    ms_per_step: float
    exposed: float
    wait_ms: float | None
    bus_gb_s: float | None


class DeviceRow(msgspec.Struct, frozen=True):
    """One active device. class_ms: mean of a counted step by class. step, compute_ms: of each counted step, or of every
    n-th where there are many. wait_ms: a step's mean in collectives before the last device arrives, None where not known.
    last_share: of the collectives in which it arrives last.
    """

    host: str
    name: str
    kind: str
    model: str
    steps: int
    class_ms: Mapping[str, float]
    step: tuple[int, ...]
    compute_ms: tuple[float, ...]
    wait_ms: float | None
    last_share: float | None


class StageRow(msgspec.Struct, frozen=True):
    """One stage of an input pipeline. path: from the consumer, `Prefetch::Map`. ms_per_step: its own work; wall_ms: what
    that takes at least with its parallelism.
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
    calls_per_step: float
    host_ms: float
    input_ms: float


class PageData(msgspec.Struct, frozen=True):
    """One run. ops: as the report's, but more of them. hosts_left_out: of the drawn steps."""

    report: Report
    ops: tuple[Op, ...]
    collectives: tuple[CollectiveRow, ...]
    devices: tuple[DeviceRow, ...]
    pipelines: tuple[PipelineInfo, ...]
    calls: tuple[CallRow, ...]
    drawn: tuple[DrawnStep, ...]
    hosts_left_out: int


class CauseRow(msgspec.Struct, frozen=True):
    """A part of the change between two runs, ms a step. class_name: "" of what is left over. words: for a reader."""

    change_ms: float
    class_name: str
    words: str


class ComparedRuns(msgspec.Struct, frozen=True):
    """Where the change of the step time comes from. new, base: places of the runs in the page.

    causes: they add up to the change. beside: what speaks for them. differences: why the runs are not quite alike.
    """

    new: int
    base: int
    summary: str
    change_ms: float
    causes: tuple[CauseRow, ...]
    beside: tuple[str, ...]
    differences: tuple[str, ...]
