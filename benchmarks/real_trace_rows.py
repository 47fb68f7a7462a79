"""What XProf and tfadvisor say of one trace, row by row, each with a judgement that a
rule makes.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from ask_xprof import PARTS, plain, quiet
from xprof.convert import raw_to_tool_data

import tfadvisor
from tfadvisor.report.model import MetricValue, Report
from tfadvisor.timeline.host_build import SELECTION, build_host
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.timeline.intervals import union_of
from tfadvisor.timeline.names.classes import COPIES, DeviceClass
from tfadvisor.timeline.names.kernels import Precision, kernel_kind
from tfadvisor.timeline.timeline_parts import Device
from tfadvisor.trace import messages
from tfadvisor.trace.decode import decode_file
from tfadvisor.units import Unit, in_words, percent
from tfadvisor.vocabulary import DeviceKind

PS_PER_US = 1_000_000
NOTHING = "–"
NOT_MEASURED = "No step time measured"
FAULTS = {
    1: "Host events never enter the steps of a GPU: input wait, kernel launch, host "
    "compute and compilation are always 0.",
    2: "A step is its first to its last device event: gaps between steps vanish.",
    3: "Copies named `MemcpyH2D` are not recognised and count as fp32 compute.",
    4: "bf16 counts as 32-bit, and Tensor-Core kernels are known up to Ampere.",
    5: "JAX without `StepTraceAnnotation` has no steps, and so no share of step time.",
    6: "Idle is the window minus the kernels with a framework op: copies, NCCL and what "
    "no op is known of count as idle.",
    7: "All GPUs of a host are one core: one GPU's work hides another's waiting.",
    8: "The time from a launch to the kernel's start is not computed.",
    9: "A Keras loop on a CPU has no step time although every step is marked.",
}
COLUMNS = {
    "infeed_time_ms_avg": "infeedTimeMs",
    "device_compute_time_ms_avg": "deviceComputeTimeMs",
    "device_to_device_time_ms_avg": "deviceToDeviceTimeMs",
    "device_collectives_time_ms_avg": "deviceCollectivesTimeMs",
    "host_compute_time_ms_avg": "hostComputeTimeMs",
    "kernel_launch_time_ms_avg": "kernelLaunchTimeMs",
    "outfeed_time_ms_avg": "outfeedTimeMs",
    "compile_time_ms_avg": "compileTimeMs",
    "other_time_ms_avg": "otherTimeMs",
}
COLLECTIVE_CATEGORIES = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
)


class Who(Enum):
    """Who is right about a row."""

    EQUAL = "both, alike"
    BOTH = "both, to different questions"
    TFADVISOR = "tfadvisor"
    ALONE = "tfadvisor, alone"
    XPROF = "XProf"
    NEITHER = "neither"


@dataclass(frozen=True)
class Row:
    """faults: those of XProf's that explain the difference, by number."""

    name: str
    theirs: str
    ours: str
    who: Who
    why: str = ""
    faults: tuple[int, ...] = ()

    @property
    def judgement(self) -> str:
        """`tfadvisor: faults 1 and 5. Why.`"""
        *most, last = [str(one) for one in self.faults] or [""]
        numbers = (
            f"faults {', '.join(most)} and {last}"
            if most
            else f"fault {last}"
            if last
            else ""
        )
        reasons = ". ".join(part for part in (numbers, self.why) if part)
        return (
            f"**{self.who.value}**: {reasons}" if reasons else f"**{self.who.value}**"
        )


@dataclass(frozen=True)
class Theirs:
    """XProf's answers. kernels: name -> (number, µs, flagged as using Tensor Cores).
    ops: of devices, with IDLE.
    """

    general: dict[str, str]
    words: dict[str, str]
    steps: list[dict[str, Any]]
    environment: dict[str, str]
    kernels: dict[str, tuple[int, float, bool]]
    ops: list[dict[str, Any]]
    collectives: int

    def mean(self, column: str) -> float:
        """Over the steps, ms."""
        return sum(step[column] for step in self.steps) / len(self.steps)


@dataclass(frozen=True)
class Ours:
    """tfadvisor's answers, and the timeline behind them. raw: the trace's messages, to
    judge by.
    """

    report: Report
    host: HostTimeline
    raw: Any

    @property
    def active(self) -> tuple[Device, ...]:
        """The devices that compute, CPUs left out."""
        return tuple(
            device
            for device in self.host.active_devices()
            if device.kind is not DeviceKind.CPU
        )

    @property
    def has_steps(self) -> bool:
        """Whether the steps are told apart."""
        return self.report.steps.source != "whole-trace"

    def alone(self, name: str, here: str, *faults: int) -> Row:
        """A row that XProf says nothing in."""
        spans = [
            (int(one.ops.start.min()), int(one.ops.end.max())) for one in self.active
        ]
        span = (
            (max(end for _, end in spans) - min(start for start, _ in spans)) / 1e9
            if spans
            else 0.0
        )
        if self.has_steps or not spans or span >= 0.01 * self.report.run.window_ms:
            return Row(name, NOTHING, here, Who.ALONE, "", faults)
        why = (
            f"tfadvisor takes the {in_words(span, Unit.MS)} from the first to the "
            "last device event for the whole trace, which "
            f"lasts {in_words(self.report.run.window_ms, Unit.MS)}"
        )
        return Row(name, NOTHING, here, Who.NEITHER, why, faults)


def rows_of(path: Path, report: Report) -> list[Row]:
    """Everything that both say of one trace."""
    theirs = ask([path])
    assert theirs is not None, f"XProf reads nothing of {path.name}"
    ours = Ours(
        report,
        build_host(decode_file(path, SELECTION)),
        messages.XSpace.FromString(path.read_bytes()),
    )
    questions: tuple[tuple[str, Callable[[str, Theirs, Ours], Row | None]], ...] = (
        ("devices", devices),
        ("steps", steps),
        ("mean step time", step_time),
        ("kernels in the trace", kernels),
        ("devices busy, each from its first to its last event", busy_overall),
        ("devices busy in the steps", busy_in_steps),
        ("breakdown of step time", breakdown),
        ("16 bits or fewer", precision),
        ("Tensor Cores, matrix cores", tensor_cores),
        ("end of launch to start", launch_latency),
        ("collectives in the trace", collectives),
        ("time of the op that differs most", op_time),
        ("verdict", verdict),
    )
    return [
        row
        for name, question in questions
        if (row := question(name, theirs, ours)) is not None
    ]


def both(paths: list[Path]) -> Row:
    """The same bytes under several names, given together."""
    theirs = ask(paths)
    assert theirs is not None
    (folder,) = {path.parent for path in paths}
    report = tfadvisor.analyze(folder).report
    noted = "hosts-left-out" in {note.rule_id for note in report.capture}
    return Row(
        "given together with its copies",
        f"{theirs.environment['task_count'].partition(' ')[0]} tasks, "
        f"{theirs.environment['device_core_count']} cores, "
        f"{sum(count for count, _, _ in theirs.kernels.values()):,} kernels",
        f"{len(report.run.hosts)} host"
        + (", and a note that the files are alike" if noted else ""),
        Who.TFADVISOR if noted else Who.NEITHER,
        "The bytes are the same, so nothing more ran",
    )


def xprof_says(paths: list[Path]) -> str:
    """Of a trace that tfadvisor does not read."""
    return "gives no answer and no error." if ask(paths) is None else "answers."


def ask(paths: list[Path]) -> Theirs | None:
    """XProf's pages about copies of the traces, since it writes caches beside them;
    None when it gives none.
    """
    with tempfile.TemporaryDirectory() as place:
        copies = [shutil.copy(path, place) for path in paths]
        overview = _tool(copies, "overview_page")
        if overview is None:
            return None
        kernel_rows = _rows(_tool(copies, "kernel_stats"))
        operations = _tool(copies, "framework_op_stats")
        hlo = _rows(_tool(copies, "hlo_stats"))
    found: dict[str, tuple[int, float, bool]] = defaultdict(lambda: (0, 0.0, False))
    for row in kernel_rows:
        count, time, _ = found[row["kernel_name"]]
        flag = bool(row["is_kernel_using_tensor_core"])
        found[row["kernel_name"]] = (
            count + round(row["occurrences"]),
            time + row["total_duration_us"],
            flag,
        )
    general, step, environment, *_ = overview
    return Theirs(
        general=general.get("p") or {},
        words=step.get("p") or {},
        steps=_rows(step),
        environment=environment.get("p") or {},
        kernels=dict(found),
        ops=[
            row
            for row in _rows(operations[0] if operations else None)
            if row["host_or_device"] == "Device"
        ],
        collectives=sum(
            round(row["occurrences"])
            for row in hlo
            if row["category"] in COLLECTIVE_CATEGORIES
        )
        + sum(
            count
            for name, (count, _, _) in found.items()
            if name.lower().startswith("nccl")
        ),
    )


def _tool(paths: list[str], tool: str) -> Any:
    with quiet():
        answer, _ = raw_to_tool_data.xspace_to_tool_data(sorted(paths), tool, {})
    return json.loads(answer) if answer else None


def _rows(table: dict[str, Any] | None) -> list[dict[str, Any]]:
    if not table:
        return []
    columns = [column["id"] for column in table["cols"]]
    return [
        dict(zip(columns, (cell["v"] for cell in row["c"]), strict=True))
        for row in table.get("rows", [])
    ]


def devices(name: str, theirs: Theirs, ours: Ours) -> Row:
    number, active = int(theirs.environment["device_core_count"]), ours.active
    there = (
        f"{number} × {theirs.environment['device_type']}"
        if number
        else theirs.environment["device_type"]
    )
    names = ", ".join(one.name for one in active) or "none that computes"
    models = sorted({one.model for one in active if one.model})
    others = len(ours.host.devices) - len(active) if active else 0
    here = (
        names
        + (f" ({', '.join(models)})" if models else "")
        + (f"; {others} more compute nothing" if others else "")
    )
    if number == len(active):
        return Row(name, there, here, Who.EQUAL)
    return Row(
        name,
        there,
        here,
        Who.BOTH,
        "XProf counts the planes of the trace, tfadvisor the devices that compute",
    )


def steps(name: str, theirs: Theirs, ours: Ours) -> Row:
    info = ours.report.steps
    here = (
        f"{info.count} ({info.source}, confidence {info.confidence:.2f})"
        if ours.has_steps
        else "none"
    )
    if info.set_aside and ours.has_steps:
        here += "; set aside: " + ", ".join(one.reason for one in info.set_aside)
    there = str(len(theirs.steps)) if theirs.steps else "none"
    saved = _saved_steps(ours.raw)
    if not theirs.steps:
        if not ours.has_steps:
            return Row(name, there, here, Who.EQUAL)
        return Row(name, there, here, Who.ALONE, f"They are {info.about}", (5,))
    if saved and len(theirs.steps) == saved != info.count:
        why = (
            f"The trace holds {saved} step, once for each GPU; tfadvisor counts it "
            "for each GPU that ran it at another time"
        )
        return Row(name, there, here, Who.XPROF, why)
    return Row(
        name, there, here, Who.EQUAL if len(theirs.steps) == info.count else Who.BOTH
    )


def step_time(name: str, theirs: Theirs, ours: Ours) -> Row | None:
    mean = (
        ours.report.steps.time_ms.mean
        if ours.has_steps and ours.report.steps.time_ms
        else None
    )
    if not theirs.steps and mean is None:
        return None
    here = in_words(mean, Unit.MS) if mean is not None else NOTHING
    if not theirs.steps:
        return ours.alone(name, here, 5)
    there = in_words(theirs.mean("stepTimeMs"), Unit.MS)
    spans = [
        (span - start) / 1e9
        for start, span in zip(
            ours.host.steps.starts, ours.host.steps.ends, strict=True
        )
    ]
    if _saved_steps(ours.raw) and max(spans) == theirs.mean("stepTimeMs"):
        why = (
            f"XProf keeps the longest of {len(spans)} GPUs, tfadvisor takes their "
            "mean; both know device events only"
        )
        return Row(name, there, here, Who.BOTH, why, (7,))
    return Row(
        name,
        there,
        here,
        Who.TFADVISOR,
        faults=(2,) if len(ours.active) < 2 else (2, 7),
    )


def kernels(name: str, theirs: Theirs, ours: Ours) -> Row | None:
    if not any(device.kind is DeviceKind.GPU for device in ours.active):
        return None
    there = (
        sum(count for count, _, _ in theirs.kernels.values()),
        sum(time for _, time, _ in theirs.kernels.values()),
    )
    mine = _kernel_table(ours.host)
    here = (
        sum(count for count, _ in mine.values()),
        sum(time for _, time in mine.values()),
    )
    words = (
        f"{number:,}, {in_words(time, Unit.US)} in all"
        for number, time in (there, here)
    )
    alike = {key: one[0] for key, one in theirs.kernels.items()} == {
        key: one[0] for key, one in mine.items()
    }
    close = all(
        abs(one[1] - mine[key][1]) <= one[0] * 1e-3 + 1e-6
        for key, one in theirs.kernels.items()
        if key in mine
    )
    return Row(
        name,
        *words,
        Who.EQUAL if alike and close else Who.NEITHER,
        "" if alike and close else "Unexplained",
    )


def busy_overall(name: str, theirs: Theirs, ours: Ours) -> Row | None:
    if not ours.active:
        return None
    total = sum(row["total_time"] for row in theirs.ops)
    idle = sum(row["total_time"] for row in theirs.ops if row["operation"] == "IDLE")
    window = busy = 0
    for device in (
        one
        for one in ours.host.devices
        if len(one.ops) and one.kind is not DeviceKind.CPU
    ):
        window += int(device.ops.end.max() - device.ops.start.min())
        busy += union_of(device.compute, device.collective, device.transfer).length()
    there, here = 1 - idle / total if total else 0.0, busy / window
    words = f"{there * 100:.2f}%", f"{here * 100:.2f}%"
    if abs(there - here) < 0.0005:
        return Row(name, *words, Who.EQUAL)
    if there < here:
        unknown = sum(time for _, time, _ in theirs.kernels.values()) - (total - idle)
        why = (
            f"{in_words(unknown, Unit.US)} of kernels carry no op that XProf knows"
            if unknown > 1
            else ""
        )
        return Row(name, *words, Who.TFADVISOR, why, (6,))
    return Row(
        name, *words, Who.TFADVISOR, "XProf adds up kernels that run at the same time"
    )


def busy_in_steps(name: str, theirs: Theirs, ours: Ours) -> Row | None:
    if not ours.active:
        return None
    duty = theirs.general.get("device_duty_cycle_percent")
    here = _metric(ours, "device_busy_fraction")
    if not ours.has_steps:
        here += " of the whole trace"
    if duty is None:
        return ours.alone(name, here)
    return Row(
        name,
        f"{duty} duty cycle of the whole trace",
        here,
        Who.BOTH,
        "XProf divides by the whole trace, tfadvisor by the steps "
        f"({ours.report.steps.about})",
    )


def breakdown(name: str, theirs: Theirs, ours: Ours) -> Row | None:
    here = ", ".join(
        f"{key} {percent(share)}"
        for key, share in ours.report.breakdown.items()
        if share >= 0.0005
    )
    if not ours.has_steps:
        here += " (of the whole trace)"
    if not ours.host.active_devices():
        here = f"{NOTHING} (no device computes anything in this trace)"
    if not theirs.steps:
        if not ours.host.active_devices():
            return None
        return ours.alone(name, here, 5)
    step = theirs.mean("stepTimeMs")
    shares = [(words, theirs.mean(COLUMNS[key]) / step) for key, words, _ in PARTS]
    there = ", ".join(
        f"{words} {percent(share)}" for words, share in shares if share >= 0.0005
    )
    faults = [1, 2]
    if _has_unknown_copies(ours.host):
        faults.append(3)
    if len(ours.active) > 1:
        faults.append(7)
    return Row(name, there, here, Who.TFADVISOR, "", tuple(faults))


def precision(name: str, theirs: Theirs, ours: Ours) -> Row | None:
    if not any(device.kind is DeviceKind.GPU for device in ours.active):
        return None
    time: Counter[Precision] = Counter()
    for key, (_, us) in _kernel_table(ours.host, copies=False).items():
        time[kernel_kind(key).precision] += us
    total, unknown = sum(time.values()), time[Precision.UNKNOWN]
    wide = sum(time[one] for one in (Precision.FP64, Precision.FP32, Precision.TF32))
    here = (
        f"{percent((total - unknown - wide) / total)} of kernel time, "
        f"{percent(wide / total)} wider"
    )
    here += (
        f", {percent(unknown / total)} unknown by name; `fp16_kernel_share` "
        f"{_metric(ours, 'fp16_kernel_share')}"
    )
    narrow, rest = (
        theirs.general[f"device_compute_{bits}bit_percent"] for bits in (16, 32)
    )
    if not theirs.steps and unknown == total:
        return Row(
            name,
            NOTHING,
            f"{NOTHING} (no kernel's name tells)",
            Who.NEITHER,
            "XLA's fusions are named after opcodes",
            (5,),
        )
    if not theirs.steps:
        return Row(name, NOTHING, here, Who.ALONE, faults=(5,))
    there = f"{narrow.replace('%', ' %')} of the steps, {rest.replace('%', ' %')} wider"
    why = (
        "XProf goes by the shapes of an op's operands where the trace has them, "
        "tfadvisor by the types in the kernel's name"
    )
    faults = (
        *((3,) if _has_unknown_copies(ours.host) else ()),
        *((4,) if time[Precision.BF16] else ()),
    )
    return Row(
        name,
        there,
        here,
        Who.TFADVISOR,
        why if _has_stat(ours.raw, b"shape") else "",
        faults,
    )


def tensor_cores(name: str, theirs: Theirs, ours: Ours) -> Row | None:
    if not theirs.kernels:
        return None
    total = sum(time for _, time, _ in theirs.kernels.values())
    there = (
        f"{percent(sum(time for _, time, flag in theirs.kernels.values() if flag) / total)} "
        "of kernel time"
    )
    here = _metric(ours, "tensor_core_kernel_share")
    here += (
        ""
        if here.startswith(NOTHING)
        else " of the matrix kernels' time that names tell of"
    )
    told = {key: kernel_kind(key).tensor_cores for key in theirs.kernels}
    differ = [
        key
        for key, flag in told.items()
        if flag is not None and flag is not theirs.kernels[key][2]
    ]
    if differ:
        return Row(
            name, there, here, Who.TFADVISOR, f"{len(differ)} kernels differ", (4,)
        )
    known = sum(flag is not None for flag in told.values())
    left = sum(flag is None and theirs.kernels[key][2] for key, flag in told.items())
    if not known and not left:
        return Row(name, there, here, Who.EQUAL)
    why = f"{known} kernels by name alike"
    if left:
        why += f"; {left} more that XProf takes for such, tfadvisor leaves open"
    return Row(name, there, here, Who.EQUAL, why)


def launch_latency(name: str, theirs: Theirs, ours: Ours) -> Row | None:
    del theirs
    if not any(device.kind is DeviceKind.GPU for device in ours.active):
        return None
    here = (
        f"{_metric(ours, 'kernel_launch_latency_us')}, 95th percentile "
        f"{_metric(ours, 'kernel_launch_latency_us_p95')}"
    )
    early = known = 0
    for ops in (device.ops for device in ours.active):
        mine = (ops.kind == DeviceClass.COMPUTE) & (ops.launch_end >= 0)
        known, early = (
            known + int(mine.sum()),
            early + int((ops.start < ops.launch_end)[mine].sum()),
        )
    why = (
        f"{early} of {known} kernels start before the call that launches them is "
        "over, which counts as 0"
        if early
        else ""
    )
    return Row(name, NOTHING, here, Who.ALONE, why, (8,))


def collectives(name: str, theirs: Theirs, ours: Ours) -> Row | None:
    if not ours.active:
        return None
    here = sum(
        int((device.ops.kind == DeviceClass.COLLECTIVE).sum())
        for device in ours.host.devices
    )
    words = f"{here}; {_metric(ours, 'collectives_per_step')} a step" if here else "0"
    return Row(
        name,
        str(theirs.collectives),
        words,
        Who.EQUAL if here == theirs.collectives else Who.NEITHER,
    )


def op_time(name: str, theirs: Theirs, ours: Ours) -> Row | None:
    """TPU: ops carry times of the device's clock beside those of the host's."""
    clocks = _clocks(ours.raw)
    if not clocks:
        return None
    mine: Counter[str] = Counter()
    for device in ours.active:
        ops = device.ops
        for row, start, end in zip(
            ops.name.tolist(), ops.start.tolist(), ops.end.tolist(), strict=True
        ):
            mine[_op(ops.names[row])] += end - start
    shared = [
        row
        for row in theirs.ops
        if row["operation"] in clocks and "start" not in row["operation"]
    ]
    if not shared:
        return None
    top = max(
        shared,
        key=lambda row: abs(row["total_time"] - mine[row["operation"]] / PS_PER_US),
    )
    op, there = top["operation"], top["total_time"] / 1e3
    here = mine[op] / 1e9
    words = f"`{op}` {in_words(there, Unit.MS)}", f"`{op}` {in_words(here, Unit.MS)}"
    if abs(there - here) < 0.001 * there:
        return Row(name, *words, Who.EQUAL)
    by_host, by_device = (
        statistics.pstdev(one) / 1e9 for one in zip(*clocks[op], strict=True)
    )
    why = (
        "The trace has the TPU's own clock beside the host's, which tfadvisor "
        f"reads: the {len(clocks[op])} runs of this op "
        f"spread by {in_words(by_device, Unit.MS)} (standard deviation) by the one, "
        f"by {in_words(by_host, Unit.MS)} by the other"
    )
    return Row(name, *words, Who.XPROF if by_device < by_host else Who.TFADVISOR, why)


def verdict(name: str, theirs: Theirs, ours: Ours) -> Row:
    (there,) = plain([theirs.words["input_conclusion"]])
    report = ours.report
    kind = "healthy" if report.verdict.healthy else report.verdict.bottleneck
    here = f"**{kind}**: “{report.verdict.summary}”"
    if NOT_MEASURED in there:
        if report.verdict.bottleneck == "unknown":
            return Row(name, f"“{there}”", here, Who.EQUAL)
        return replace(
            ours.alone(name, here, *((5,) if ours.has_steps else ())),
            theirs=f"“{there}”",
        )
    if (
        len(theirs.steps) == _saved_steps(ours.raw) != report.steps.count
        and report.verdict.bottleneck == "imbalance"
    ):
        why = (
            "The GPUs ran one step at different times, which is no imbalance; XProf "
            "cannot tell what they wait for"
        )
        return Row(name, f"“{there}”", here, Who.NEITHER, why, (1,))
    return Row(name, f"“{there}”", here, Who.TFADVISOR, faults=(1,))


def _metric(ours: Ours, name: str) -> str:
    """A metric in words, or why there is none."""
    one: MetricValue = ours.report.metrics[name]
    return (
        f"{NOTHING} ({one.reason})"
        if one.value is None
        else in_words(one.value, Unit(one.unit))
    )


def _has_unknown_copies(host: HostTimeline) -> bool:
    names = {
        device.ops.names[row]
        for device in host.devices
        for row in set(device.ops.name.tolist())
    }
    return any(
        name.startswith(("MemcpyH2D", "MemcpyD2H", "MemcpyD2D")) for name in names
    )


def _kernel_table(
    host: HostTimeline, copies: bool = True
) -> dict[str, tuple[int, float]]:
    """Name -> (number, µs) of what has kernel details: all but the copies that the
    driver makes, those of ROCm included.
    """
    found: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for device in (one for one in host.devices if one.kind is DeviceKind.GPU):
        ops = device.ops
        for row, kind, length in zip(
            ops.name.tolist(),
            ops.kind.tolist(),
            (ops.end - ops.start).tolist(),
            strict=True,
        ):
            name = ops.names[row]
            if not name.upper().startswith(("MEMCPY", "MEMSET")) and (
                copies or kind not in COPIES
            ):
                count, time = found[name]
                found[name] = (count + 1, time + length / PS_PER_US)
    return dict(found)


def _saved_steps(raw: Any) -> int:
    """Steps on the `Steps` line that an old version saved, of the GPU that has most; 0
    without one.
    """
    lines = [
        line
        for plane in raw.planes
        if plane.name.startswith(b"/device:GPU")
        for line in plane.lines
    ]
    return max((len(line.events) for line in lines if line.name == b"Steps"), default=0)


def _has_stat(raw: Any, name: bytes) -> bool:
    gpus = [plane for plane in raw.planes if plane.name.startswith(b"/device:GPU")]
    return any(
        entry.name == name for plane in gpus for entry in plane.stat_metadata.values()
    )


def _clocks(raw: Any) -> dict[str, list[tuple[int, int]]]:
    """TPU op -> its lengths by the host's clock and by the TPU's, ps, where the trace
    has both.
    """
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for plane in (one for one in raw.planes if one.name.startswith(b"/device:TPU")):
        own = {
            number
            for number, entry in plane.stat_metadata.items()
            if entry.name == b"device_duration_ps"
        }
        for event in (
            event
            for line in plane.lines
            if line.name == b"XLA Ops"
            for event in line.events
        ):
            lengths = [
                stat.uint64_value or stat.int64_value
                for stat in event.stats
                if stat.metadata_id in own
            ]
            if lengths:
                name = _op(plane.event_metadata[event.metadata_id].name.decode())
                found[name].append((event.duration_ps, lengths[0]))
    return dict(found)


def _op(name: str) -> str:
    """`%copy-done.2 = f32[8] copy-done(…)` is `copy-done.2`."""
    return name.removeprefix("%").partition(" ")[0]
