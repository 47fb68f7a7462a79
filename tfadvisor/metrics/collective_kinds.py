"""Exposed communication by what is exchanged, and what the run's own numbers suggest
against it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import BoolArray, distinct
from tfadvisor.metrics.collectives import (
    exposed_transfer_fraction,
    long_collective_fraction,
)
from tfadvisor.metrics.devices import slices_network, workload
from tfadvisor.metrics.kinds import between_products, patterns_of_any_device
from tfadvisor.metrics.layers import placed
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import (
    counted_hosts,
    device_steps,
    known_steps,
    share,
    tpus,
)
from tfadvisor.metrics.step_time import turnaround_fraction
from tfadvisor.tallies import added_up
from tfadvisor.timeline.devices import CollectiveCalls
from tfadvisor.timeline.names.collective_events import CollectiveKind
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.op_path import forward_op
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, DeviceKind, TimeClass

if TYPE_CHECKING:
    from tfadvisor.timeline.summary import HotOp, ProgramPatterns

_IN_A_LOOP = 2
_OFFLOADED = re.compile(r"\b(?:async|call)-(?:start|done)\b")
"""In `%all-reduce.8.cloned.1.call-done = …` and `%async-done.3 = …`, which wait for
what a TPU's sparse core runs.
"""
_MOVED = {"v6": "by flags", "7x": "by default", "v7": "by default"}
"""What a TPU's model is called in part, and whether its compiler moves collectives to
sparse cores (MaxText's flags).
"""
_NAMED_BY_OP = (DeviceKind.CPU, DeviceKind.TPU)
"""Devices whose events bear the names of the program's ops, and not those of kernels.
"""


class _Label(msgspec.Struct, frozen=True):
    """The counted calls of one collective on one device. time_ps, exposed_ps, bytes:
    summed; unsized: of unknown size.

    op: its HLO name, "" where only the kernel's name is known. module: of its program,
    "" where that is not known. repeats: calls a step. offloaded: whether another core
    runs it, as an asynchronous computation; None where the trace names its op alone.
    """

    kind: CollectiveKind
    dtype: str
    op: str
    module: str
    calls: int
    time_ps: int
    exposed_ps: int
    bytes: int
    unsized: int
    repeats: float
    offloaded: bool | None


@once
def _labels(question: Question) -> list[_Label]:
    """Of every device. Raises MetricAbsent when no device communicates in a counted
    step.
    """
    known_steps(question.run)
    found = [
        label
        for host in counted_hosts(question.run)
        for device in host.devices
        for label in _labels_of(
            device.collectives,
            host.steps.steady(),
            by_op=device.kind in _NAMED_BY_OP,
        )
    ]
    if not found:
        raise MetricAbsent("no device's trace holds a collective")
    return found


def _labels_of(
    calls: CollectiveCalls,
    steady: BoolArray,
    *,
    by_op: bool,
) -> list[_Label]:
    """One for each name in each program: ops of two programs may bear one name. by_op:
    names are those of ops.
    """
    if not len(calls):
        return []
    counted = np.flatnonzero((calls.step >= 0) & steady[np.maximum(calls.step, 0)])
    width = len(calls.modules) + 1
    pairs = calls.label[counted].astype(np.int64) * width + calls.module[counted] + 1
    known = distinct(pairs)
    labels = known // width
    modules = known % width - 1
    group = np.searchsorted(known, pairs)
    many = len(known)
    number = np.bincount(group, minlength=many)
    columns = (
        calls.end - calls.start,
        calls.exposed_ps,
        np.maximum(calls.bytes, 0),
        calls.bytes < 0,
    )
    time, exposed, size, unsized = (
        np.bincount(group, column[counted], many).tolist() for column in columns
    )
    kernel = np.zeros(many, np.int64)
    kernel[group] = calls.kernel[counted]
    dtypes = calls.dtypes or ("",) * len(calls.labels)
    out = []
    for at, (label, other) in enumerate(
        zip(labels.tolist(), kernel.tolist(), strict=True)
    ):
        own = calls.kinds[label]
        name = calls.labels[label]
        out.append(
            _Label(
                kind=own if own is not CollectiveKind.OTHER else calls.kinds[other],
                dtype=dtypes[label] or dtypes[other],
                op=name.partition(" = ")[0].removeprefix("%")
                if by_op or label != other
                else "",
                module=calls.modules[modules[at]] if modules[at] >= 0 else "",
                calls=int(number[at]),
                time_ps=int(time[at]),
                exposed_ps=int(exposed[at]),
                bytes=int(size[at]),
                unsized=int(unsized[at]),
                repeats=int(number[at]) / max(int(steady.sum()), 1),
                offloaded=True
                if _OFFLOADED.search(name)
                else False
                if " = " in name
                else None,
            )
        )
    return out


def _exposed(question: Question, wanted: Callable[[_Label], bool]) -> float:
    """The part of exposed_transfer_fraction that belongs to these, in proportion to the
    exposed time of their calls.
    """
    labels = _labels(question)
    total = sum(label.exposed_ps for label in labels)
    mine = sum(label.exposed_ps for label in labels if wanted(label))
    return mine / total * exposed_transfer_fraction(question) if total else 0.0


@metric(unit=Unit.BYTES, better=Better.NEITHER)
def costliest_message_bytes(question: Question) -> float:
    """Mean size of the messages of the collective whose calls are exposed for longest,
    of whatever kind.
    """
    first = _most_exposed(question)
    if first.unsized or not first.exposed_ps:
        raise MetricAbsent(
            "the trace does not say how much the costliest collective sends"
        )
    return first.bytes / first.calls


@metric
def exposed_all_reduce_fraction(question: Question) -> float:
    """The part of exposed_transfer_fraction spent in AllReduces, in proportion to the
    exposed time of each kind of collective.
    """
    return _exposed(question, lambda label: label.kind is CollectiveKind.ALL_REDUCE)


class _Use(Enum):
    """What a collective is for, as far as its surroundings tell; each has one use."""

    BETWEEN_PRODUCTS = "tensor parallelism"
    PERMUTE = "pipeline parallelism"
    WEIGHTS = "sharded parameters"
    REST = "gradients and others"


def _use(
    label: _Label,
    between_products: tuple[str, ...],
    weights: tuple[str, ...],
    network: str,
) -> _Use:
    if label.op in between_products:
        return _Use.BETWEEN_PRODUCTS
    if _is_permute(label) and (
        network != "used" or label.op.startswith("collective-permute")
    ):
        return _Use.PERMUTE
    if label.op in weights:
        return _Use.WEIGHTS
    gathers = label.kind in (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER)
    if gathers and label.op and label.repeats >= _IN_A_LOOP:
        return _Use.WEIGHTS
    return _Use.REST


def _is_permute(label: _Label) -> bool:
    """Whether an op says that it sends to a neighbour. NCCL runs all-to-alls and
    permutes alike as SendRecv, so the kernel alone does not tell.
    """
    return label.kind is CollectiveKind.SEND_RECV and bool(label.op)


def _exposed_for(question: Question, use: _Use) -> float:
    between = _or_none(between_products, question)
    weights = _or_none(lambda asked: patterns_of_any_device(asked).weights, question)
    network = slices_network(
        question
    )  # what hosts send over it are gradients of slices
    return _exposed(
        question, lambda label: _use(label, between, weights, network) is use
    )


def _or_none(
    find: Callable[[Question], tuple[str, ...]],
    question: Question,
) -> tuple[str, ...]:
    try:
        return find(question)
    except MetricAbsent:
        return ()


@metric
def exposed_weight_gather_fraction(question: Question) -> float:
    """The part of exposed_transfer_fraction spent in all-gathers of the program's
    arguments, by the trace's HLO, and in all-gathers and reduce-scatters that a step
    runs twice or more, as when parameters are gathered layer by layer.
    """
    return _exposed_for(question, _Use.WEIGHTS)


@metric
def exposed_permute_fraction(question: Question) -> float:
    """The part of exposed_transfer_fraction spent in collective-permutes, sends and
    receives, as between the stages of a pipeline; what TPU hosts send between slices is
    none of it.
    """
    return _exposed_for(question, _Use.PERMUTE)


@metric
def exposed_between_products_fraction(question: Question) -> float:
    """The part of exposed_transfer_fraction spent in collectives that wait for one
    matrix product and hold up another, as in tensor parallelism; from the trace's HLO.
    """
    between_products(question)
    return _exposed_for(question, _Use.BETWEEN_PRODUCTS)


@metric
def exposed_rest_fraction(question: Question) -> float:
    """exposed_transfer_fraction without exposed_weight_gather_fraction,
    exposed_permute_fraction and exposed_between_products_fraction: gradients and all
    other communication. On TPUs the last of these is not left out, on CPUs none is.
    """
    kinds = {
        device.kind for host in counted_hosts(question.run) for device in host.devices
    }
    if not kinds & {DeviceKind.GPU, DeviceKind.TPU}:
        return exposed_transfer_fraction(question)
    rest = _exposed_for(question, _Use.REST)
    if DeviceKind.GPU in kinds:
        return rest
    return rest + _exposed_for(question, _Use.BETWEEN_PRODUCTS)


@metric
def short_collective_fraction(question: Question) -> float:
    """exposed_rest_fraction without its share of long_collective_fraction: what
    collectives cost by their number, at most.
    """
    rest = exposed_rest_fraction(question)
    if not rest:
        return 0.0
    long = long_collective_fraction(question) / exposed_transfer_fraction(question)
    return rest * (1 - long)


@metric(unit=Unit.COUNT)
def collective_repeats_per_step(question: Question) -> float:
    """Number of times that a step runs the collective with the most exposed time. It
    exceeds 1 in a loop over layers.
    """
    first = _most_exposed(question)
    if not first.op:
        raise MetricAbsent(
            "the trace does not say which op of the program a collective belongs to"
        )
    return first.repeats


def _most_exposed(question: Question) -> _Label:
    return max(_labels(question), key=lambda label: label.exposed_ps)


@fact
def collective_dtype(question: Question) -> str:
    """Type of the data that the collectives spend most time on, as HLO names it: f32,
    bf16, f16 or another.
    """
    time = added_up(
        (label.dtype, label.time_ps) for label in _labels(question) if label.dtype
    )
    if not time:
        raise MetricAbsent("neither names nor HLO say what type the collectives carry")
    return max(time, key=time.__getitem__)


@fact
def exposed_collective_kind(question: Question) -> str:
    """The kind of collective with the most exposed time: `all-reduce`, `all-gather`,
    `reduce-scatter`, `all-to-all`, `broadcast`, `send-recv`, `barrier` or `other`;
    `exchange` where only a kernel called SendRecv is known, which may be any of
    several.
    """
    exposed = added_up(
        (_in_words(label), label.exposed_ps) for label in _labels(question)
    )
    if not any(exposed.values()):
        raise MetricAbsent("computation hides every collective")
    return max(exposed, key=exposed.__getitem__)


_EXCHANGE = "exchange"


def _in_words(label: _Label) -> str:
    if label.kind is CollectiveKind.SEND_RECV and not _is_permute(label):
        return _EXCHANGE
    return label.kind.value


_TURNS = 4
"""Built trace fsdp-scan-tpu repeats a collective 8 times a step, moe-all-to-all-gpu 4
times, and other recordings once.
"""
_CAUSES = {
    CollectiveKind.BARRIER.value: "barrier",
    CollectiveKind.ALL_TO_ALL.value: _EXCHANGE,
    CollectiveKind.ALL_GATHER.value: _EXCHANGE,
    _EXCHANGE: _EXCHANGE,
}


@fact
def communication_cause(question: Question) -> str:
    """Why devices only communicate, by the kind with the most exposed time: `barrier`;
    `exchange` (all-to-all, all-gather, or a SendRecv that no op names); `slices` where
    hosts send between slices of TPUs; `loop` where the same all-reduce runs four times
    a step or more and no matrix product waits for it; else `other`, as sums of
    gradients are.
    """
    kind = exposed_collective_kind(question)
    if kind in _CAUSES:
        return _CAUSES[kind]
    if slices_network(question) == "used":
        return "slices"
    first = _most_exposed(question)
    is_sum = first.kind is CollectiveKind.ALL_REDUCE
    repeats = is_sum and first.op and first.repeats >= _TURNS
    if not repeats:
        return "other"
    known = _patterns_about(question, first)
    needed = known is not None and first.op in known.between_products
    return "other" if needed else "loop"


@fact
def exposed_collective_use(question: Question) -> str:
    """What the collective with the most exposed time is for, by the trace's HLO:
    `weights` (all-gathers of the program's arguments), `experts` (a mixture of
    experts), `asked for` (the program writes it, as jax.lax.all_to_all), `resharding`
    (the compiler put it in), or `unknown`.
    """
    first = _most_exposed(question)
    known = _patterns_about(question, first)
    if known is None:
        return "unknown"
    uses = (
        ("weights", known.weights),
        ("experts", known.experts),
        ("asked for", known.asked_for),
    )
    return next(
        (use for use, names in uses if first.op in names),
        "resharding" if first.op else "unknown",
    )


def _patterns_about(question: Question, exposed: _Label) -> ProgramPatterns | None:
    """What the HLO of the program that runs a collective says of it; None where the
    trace has none."""
    try:
        known = patterns_of_any_device(question)
    except MetricAbsent:
        return None
    if exposed.module and exposed.module != known.module:
        return None
    return known


@fact
def sparse_core_offload(question: Question) -> str:
    """Whether a TPU's sparse cores run the collective with the most exposed time:
    `runs`, by its instruction; where they do not, `by flags` or `by default` for when
    its compiler lets them.
    """
    used = tpus(question.run)
    offloaded = _most_exposed(question).offloaded
    if offloaded:
        return "runs"
    if offloaded is None and any(device.sparse_ps for _, device in used):
        raise MetricAbsent("sparse cores run ops, and the trace does not say which")
    for part, when in _MOVED.items():
        if part in used[0][1].model.lower():
            return when
    raise MetricAbsent(
        "of TPUs of this model nobody says that sparse cores run collectives"
    )


@fact
def combine_all_gather_bytes(question: Question) -> str:
    """Bytes of the all-gathers of a step, or of one turn of the loop that runs them:
    the threshold at which XLA combines them into one message.
    """
    kind = CollectiveKind.ALL_GATHER
    mine = [label for label in _labels(question) if label.kind is kind]
    if not mine:
        raise MetricAbsent(f"no collective of the counted steps is an {kind.value}")
    if any(label.unsized for label in mine):
        raise MetricAbsent("the trace does not say how large the messages are")
    turns = max((label.repeats for label in mine if label.op), default=1.0)
    each = sum(label.bytes for label in mine) / device_steps(question.run)
    return str(math.ceil(each / max(turns, 1.0)))


# Numbers for fixes, worked out from the run: what to set something to.

_SMALL_REST = 0.05
_MOST_STEPS = 1024
_NUMBER = re.compile(r"_\d+\Z")
_TINY_US = 25


@fact
def steps_per_execution(question: Question) -> str:
    """Number of steps to run per call so that Python between the calls takes less than
    5% of the time, a power of two: `16`.
    """
    _needs_steps_that_can_wait(question)
    return _until_small(share(question, TimeClass.HOST))


@fact
def steps_between_waits(question: Question) -> str:
    """Number of steps between two waits, or two values read, at which the device stands
    idle for less than 5% of the time, a power of two: `16`.
    """
    _needs_steps_that_can_wait(question)
    return _until_small(turnaround_fraction(question))


def _needs_steps_that_can_wait(question: Question) -> None:
    """Raises MetricAbsent for inference: what a step gives is the answer, or what the
    next one begins with.
    """
    if workload(question) == "inference":
        raise MetricAbsent(
            "the program does inference, and the result of each of its steps is "
            "wanted at once"
        )


def _until_small(lost: float) -> str:
    """With n steps instead of one between losses l of a step whose rest is w: l / (l +
    n w) below 5%.
    """
    wanted = (1 / _SMALL_REST - 1) * lost / max(1 - lost, 1e-6)
    steps = 2
    while steps < min(wanted, _MOST_STEPS):
        steps *= 2
    return str(steps)


@fact
def tiny_op_place(question: Question) -> str:
    """The op, among the hottest that take less than 25 µs, that runs most often, with
    its place in the user's program: `loop_multiply_fusion (train.py:42)`. Of a
    gradient in a loop, the op that it is of.
    """
    found = _tiny_op(question)
    path = forward_op(found.name().rpartition(":")[0])
    kind = _NUMBER.sub("", path.rpartition("/")[2])
    line = question.run.op_lines.line_of(path, kind) if path else None
    if line is not None:
        return place_in_words(line.file, line.line, path)
    return placed(question.run, found)


@fact
def tiny_op_in_loop(question: Question) -> str:
    """Whether that op runs in a while loop of the compiled program: `yes` or `no`."""
    known = _tiny_op(question).known
    return "yes" if known is not None and known.in_loop else "no"


def _tiny_op(question: Question) -> HotOp:
    """Of the first host with a program. Raises MetricAbsent."""
    tables = (host.hot_ops for host in question.run.hosts if host.program is not None)
    tiny = [
        op
        for op in next(tables, ())
        if op.total_ps < op.count * _TINY_US * 1_000_000 and placed(question.run, op)
    ]
    if not tiny:
        raise MetricAbsent("no HLO, nor a note, says where tiny ops come from")
    return max(tiny, key=lambda op: op.count)
