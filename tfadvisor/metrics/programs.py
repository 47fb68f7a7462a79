"""What the compiled programs say of their ops: arguments, loops, branches, and how near
the device's peak they run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.kinds import (
    OpKind,
    count_per_step,
    first_device_ops,
    kind_of,
    known_ops,
    known_where,
    patterns_of_any_device,
)
from tfadvisor.metrics.rates import Rates, rates_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_hosts, share
from tfadvisor.printable import short_kernel
from tfadvisor.timeline.names.device_events import instruction_name
from tfadvisor.timeline.names.program_calls import function_of_module
from tfadvisor.timeline.summary import HotOp, HotOps
from tfadvisor.units import PS_PER_S, PS_PER_US, Unit, percent, size
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    from tfadvisor.program.parameters import CopiedArguments
    from tfadvisor.program.rounds import FreeLoop

_ENOUGH_KNOWN = 0.5
"""Ratios are given only when they rest on at least this share of the compute time."""
_WAITS_FOR_MEMORY = 0.1
"""Share of the bandwidth that an op which waits for memory uses at least; built trace
decode-h100 uses far more.
"""


def _hottest(question: Question) -> tuple[HotOps, Rates]:
    """Of the first host's first device. Raises MetricAbsent when nothing computes."""
    found = first_device_ops(question)
    host = next(host for host in question.run.hosts if host.devices)
    return found, rates_of(question.run, host)


@metric(better=Better.MORE)
def flops_utilization(question: Question) -> float:
    """Arithmetic of the hottest ops, counted from their shapes, over what the device
    could do in their time: at its peak in the type that each op multiplies (fp8, TF32,
    fp32; 16 bits where that peak is not known), of ops that multiply nothing in fp32.
    """
    found, rates = _hottest(question)
    if rates.peaks.flops is None:
        raise MetricAbsent("the trace does not say how fast the device is")
    known = _counted(
        found,
        [op for op in found.ops if op.known is not None and op.known.flops is not None],
    )
    least = sum(rates.arithmetic_s(op) * op.count for op in known)
    return least / (sum(op.total_ps for op in known) / PS_PER_S)


@metric(better=Better.MORE)
def memory_bandwidth_utilization(question: Question) -> float:
    """Bytes that the hottest ops read and write, counted from their shapes, over what
    device memory could deliver in their time. It exceeds 1 where caches serve some of
    the reads.
    """
    found, rates = _hottest(question)
    bandwidth = rates.peaks.bytes_per_s
    if bandwidth is None:
        raise MetricAbsent("the trace does not say how fast the device's memory is")
    known = _counted(found, [op for op in found.ops if op.known is not None])
    moved = sum(op.known.cost.bytes * op.count for op in known if op.known is not None)
    return moved / (sum(op.total_ps for op in known) / PS_PER_S) / bandwidth


@once
def _memory_bound(question: Question) -> list[HotOp]:
    """The hottest ops, of those whose HLO tells all they compute, of which memory takes
    longer than arithmetic at best. One that uses less than a tenth of the bandwidth
    waits for something else."""
    found, rates = _hottest(question)
    if rates.peaks.flops is None or rates.peaks.bytes_per_s is None:
        raise MetricAbsent(
            "the trace does not say how fast the device and its memory are"
        )
    known = _counted(
        found,
        [op for op in found.ops if op.known is not None and op.known.flops is not None],
    )
    costs = [
        (op, rates.moving_s(op.known.cost.bytes))
        for op in known
        if op.known is not None
    ]
    return [
        op
        for op, moving_s in costs
        if moving_s > rates.arithmetic_s(op)
        and moving_s * op.count >= _WAITS_FOR_MEMORY * op.total_ps / PS_PER_S
    ]


@metric(better=Better.NEITHER)
def memory_bound_fraction(question: Question) -> float:
    """Share of step time in ops of which memory takes longer than arithmetic even at
    the device's full speed of both: bytes over its memory's bandwidth against
    operations over its peak in their type, counted from their shapes. They count where
    they use a tenth of the bandwidth.
    """
    mine, (found, *_) = _memory_bound(question), _hottest(question)
    return (
        sum(op.total_ps for op in mine)
        / found.compute_ps
        * share(question, TimeClass.COMPUTE)
    )


@fact
def memory_bound_op(question: Question) -> str:
    """The op of memory_bound_fraction that takes most time, with its share of the
    compute time.
    """
    mine, (found, *_) = _memory_bound(question), _hottest(question)
    if not mine:
        raise MetricAbsent(
            "arithmetic takes longer than memory in all of the hottest ops"
        )
    return (
        f"{short_kernel(instruction_name(mine[0].name()))}, "
        f"{percent(mine[0].total_ps / found.compute_ps)} of compute time"
    )


@fact
def memory_bound_place(question: Question) -> str:
    """The same with its place in the user's program: `fusion.3 (train.py:42)`."""
    for op in _memory_bound(question):
        if op.place():
            return op.place()
    raise MetricAbsent("the trace holds no HLO that says where these ops come from")


def _counted(found: HotOps, known: list[HotOp]) -> list[HotOp]:
    if sum(op.total_ps for op in known) < _ENOUGH_KNOWN * found.compute_ps:
        raise MetricAbsent(
            "the trace does not hold the HLO of most of the compute time"
        )
    return known


@metric(unit=Unit.COUNT, better=Better.NEITHER)
def model_parameters(question: Question) -> float:
    """Number of model parameters: as given with `--params`, else the floating-point
    arguments that the hottest program returns and whose names do not suggest an
    optimizer's state. Where parameters are sharded, one device's part.
    """
    if question.settings.parameters is not None:
        return float(question.settings.parameters)
    found = [
        host.program.hot_ops for host in question.run.hosts if host.program is not None
    ]
    if not found:
        raise MetricAbsent(
            "no device computes anything in this trace, and --params was not given"
        )
    if found[0].parameters is None:
        raise MetricAbsent(
            f"{found[0].why}: give the number of model parameters with --params"
        )
    return float(found[0].parameters)


# What a compiled program does to its arguments because it may not write into them.

_ARGUMENT = re.compile(r"^[A-Za-z_]\w*")
"""The name of an argument in front of what it contains: `memory` of `memory['obs']`."""


def copies_of_arguments(question: Question) -> list[HotOp]:
    """Of whole arguments that the program returns changed and may not overwrite. Raises
    MetricAbsent without HLO.
    """
    return known_where(question, lambda known: known.copied is not None)


@fact
def copied_arguments(question: Question) -> str:
    """The arguments that the program copies because they are not donated, the costliest
    first: `state.memory, state.moments`.
    """
    names = [
        copy.known.copied
        for copy in copies_of_arguments(question)
        if copy.known is not None and copy.known.copied
    ]
    if not names:
        raise MetricAbsent("the trace holds no names of arguments that are copied")
    return ", ".join(list(dict.fromkeys(names))[:3])


@fact
def copying_function(question: Question) -> str:
    """The jitted function whose program copies the most of its arguments because they
    are not donated: `train_step`.
    """
    found = next(
        (
            name
            for copy in copies_of_arguments(question)
            if (name := function_of_module(copy.module))
        ),
        None,
    )
    if found is None:
        raise MetricAbsent(
            "the trace does not name the function whose arguments are copied"
        )
    return found


@fact
def donated_names(question: Question) -> str:
    """The arguments of that function to donate, as its source names them: `"params",
    "memory"`.
    """
    function = copying_function(question)
    return _as_in_source(
        copy.known.copied
        for copy in copies_of_arguments(question)
        if copy.known is not None and function_of_module(copy.module) == function
    )


def _as_in_source(names: Iterable[str | None]) -> str:
    """The arguments of a function that hold what has these names. Raises
    MetricAbsent.
    """
    found = (_ARGUMENT.match(name or "") for name in names)
    roots = dict.fromkeys(match.group() for match in found if match is not None)
    if not roots or {"args", "kwargs"}.intersection(roots):
        raise MetricAbsent("the trace holds no names of arguments that are copied")
    return ", ".join(f'"{name}"' for name in roots)


def _copier(question: Question) -> CopiedArguments:
    programs = (host.program for host in counted_hosts(question.run))
    found = (program.copier for program in programs if program is not None)
    copier = next(filter(None, found), None)
    if copier is None:
        raise MetricAbsent("the trace holds no HLO of a program that copies buffers")
    return copier


@fact
def d2d_function(question: Question) -> str:
    """The jitted function whose program takes most of d2d_ms_per_step: `replay_add`."""
    name = function_of_module(_copier(question).module)
    if name is None:
        raise MetricAbsent("the program that copies has no function's name")
    return name


@fact
def d2d_donates(question: Question) -> str:
    """Whether that program donates any argument, from the trace's HLO: yes or no; `in
    vain` where it does not, and copies none that a donation would spare.
    """
    copier = _copier(question)
    if copier.donates:
        return "yes"
    return "no" if copier.names else "in vain"


@fact
def d2d_arguments(question: Question) -> str:
    """The arguments that it copies whole and returns changed, since they are not
    donated, the largest first: `buf.obs, buf.next_obs`.
    """
    names = list(filter(None, _copier(question).names))
    if not names:
        raise MetricAbsent("it copies no argument that has a name")
    return ", ".join(names[:3])


@fact
def d2d_donated_names(question: Question) -> str:
    """The arguments of its function to donate, as its source names them: `"buf"`."""
    return _as_in_source(_copier(question).names)


# Loops of a compiled program that work row by row or copy slices, and loops that were
# unrolled.


def _looped(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: known.in_loop)


def looped_scatters(question: Question) -> list[HotOp]:
    """Updates of single rows inside while loops. Raises MetricAbsent without HLO."""
    return [
        op for op in _looped(question) if op.known is not None and op.known.scatters
    ]


def looped_slice_copies(question: Question) -> list[HotOp]:
    """Kernels that copy slices inside while loops that also multiply matrices. Raises
    MetricAbsent without HLO.
    """
    looped = _looped(question)
    if not any(kind_of(op) is OpKind.MATRIX for op in looped):
        return []
    return [op for op in looped if kind_of(op) is OpKind.UPDATE]


@metric(unit=Unit.COUNT)
def looped_updates_per_step(question: Question) -> float:
    """Number of updates of single rows per step that a while loop on the first device
    makes one after the other: scatters that became loops, from the trace's HLO.
    """
    return count_per_step(question, looped_scatters(question))


def share_with_launches(question: Question, ops: Sequence[HotOp]) -> float:
    """Share of step time in these of known_ops: their kernels, and the launches between
    kernels in proportion to their number. Raises MetricAbsent without HLO.
    """
    found = known_ops(question)
    time = sum(op.total_ps for op in ops) / found.compute_ps
    number = sum(op.count for op in ops) / sum(op.count for op in found.ops)
    launching = share(question, TimeClass.LAUNCH) + share(question, TimeClass.IDLE)
    return min(time, 1.0) * share(question, TimeClass.COMPUTE) + number * launching


_ALL_NEEDED = "no loop takes time of which it shows that no round needs another"


class _LoopOps(NamedTuple):
    """A loop whose rounds do not need each other, and those of the hottest ops that run
    in it, or stand for all that it runs.
    """

    loop: FreeLoop
    ops: list[HotOp]

    def total_ps(self) -> int:
        """Summed over the counted steps."""
        return sum(op.total_ps for op in self.ops)

    def runs(self) -> int:
        """How many ops run in the counted steps, those that the trace does not show
        too.
        """
        return sum(op.count * self.loop.kernels[op.op] for op in self.ops)


@once
def _free_loops(question: Question) -> list[_LoopOps]:
    """Those that take time, most first. Raises MetricAbsent without HLO."""
    patterns = patterns_of_any_device(question)
    ops = _of_hottest_program(question)
    found = []
    for loop in patterns.rounds.free:
        found.append(_LoopOps(loop, [op for op in ops if op.op in loop.kernels]))
    return sorted(filter(_LoopOps.runs, found), key=_LoopOps.total_ps, reverse=True)


def _of_hottest_program(question: Question) -> list[HotOp]:
    module = patterns_of_any_device(question).module
    return [op for op in known_ops(question).ops if op.module == module]


def in_free_loops(question: Question) -> list[HotOp]:
    """The hottest ops in loops whose rounds do not need each other. Raises MetricAbsent
    without HLO.
    """
    return [op for loop in _free_loops(question) for op in loop.ops]


def free_loop_place(question: Question) -> str:
    """The one that takes most time: `while.7 (train.py:21)`, "" without any. Raises
    MetricAbsent without HLO.
    """
    for loop, _ in _free_loops(question):
        return f"{loop.name} ({loop.line})" if loop.line else loop.name
    return ""


@fact
def independent_rounds(question: Question) -> str:
    """Of the loop that takes most time of those whose rounds do not need each other,
    how many the compiler noted and where: `the 32 rounds at train.py:21`.
    """
    for loop, _ in _free_loops(question):
        number = f"{loop.rounds:,} " if loop.rounds else ""
        return f"the {number}rounds at {loop.line or loop.name}"
    raise MetricAbsent(_ALL_NEEDED)


@fact
def shared_matrix(question: Question) -> str:
    """The largest matrix that each round of such a loop multiplies by a vector of its
    own: `f32[300,300]`.
    """
    for loop, _ in _free_loops(question):
        if loop.matrix:
            return loop.matrix
    raise MetricAbsent("no such round multiplies a matrix of all rounds by a vector")


@metric(unit=Unit.US, better=Better.NEITHER)
def independent_loop_op_us(question: Question) -> float:
    """How long an op takes in while loops whose rounds do not need each other, a mean;
    where the trace shows a loop as one event, by the ops that the HLO counts in it.
    """
    found = _free_loops(question)
    runs = sum(loop.runs() for loop in found)
    if not runs:
        raise MetricAbsent(_ALL_NEEDED)
    return sum(loop.total_ps() for loop in found) / runs / PS_PER_US


# Loops that copy an array that they carry.


def carried_copies(question: Question) -> list[HotOp]:
    """Copies of whole arrays in each round of a loop that reads and writes parts of
    them alone. Raises MetricAbsent without HLO.
    """
    names = {copy.name for copy in patterns_of_any_device(question).rounds.copies}
    return [op for op in _of_hottest_program(question) if op.op in names]


@fact
def carried_copy_array(question: Question) -> str:
    """The array that the costliest of carried_copies copies, its size, and how often:
    `f32[80,80,80], 2.0 MB, in each of 78 rounds`.
    """
    copies = patterns_of_any_device(question).rounds.copies
    for op in carried_copies(question):
        copy = next(each for each in copies if each.name == op.op)
        rounds = f"each of {copy.rounds:,} rounds" if copy.rounds else "each round"
        return f"{copy.array.partition('{')[0]}, {size(copy.bytes)}, in {rounds}"
    raise MetricAbsent("no loop copies a whole array of which it uses parts alone")


def unrolled_ops(question: Question) -> list[HotOp]:
    """Ops that hold a hundred copies or more of one line's operation. Raises
    MetricAbsent without HLO.
    """
    return known_where(question, lambda known: known.unrolled is not None)
