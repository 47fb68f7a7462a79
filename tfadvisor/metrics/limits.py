"""The least time that the devices need for what they compute, op by op: bytes over
their memory's bandwidth or operations over their peak, whichever takes longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.arrays import descending
from tfadvisor.metrics.layers import OpKey, keys_of
from tfadvisor.metrics.rates import Rates, known_rates
from tfadvisor.metrics.registry import MetricAbsent, Question, metric, once
from tfadvisor.metrics.steady import a_device, class_shares, counted_hosts
from tfadvisor.tallies import added_up
from tfadvisor.timeline.attribution import Spent
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.kernels import kernel_kind
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import (
    HostSummary,
    HotOp,
)
from tfadvisor.units import PS_PER_S
from tfadvisor.vocabulary import UNKNOWN_COSTS, Better, TimeClass

if TYPE_CHECKING:
    from tfadvisor.timeline import InProgram
    from tfadvisor.timeline.summary import ProgramProducts

_ENOUGH_KNOWN = 0.5
"""Of the compute time, what the answer must rest on at least."""
_MOST_ROWS = 4_000
_AT_ONCE = 1.02
"""Where the summed time of ops is more than this times the time in which any runs, some
run at once; ops that end outside of a counted step add a little too."""
_AS_STATED = 1.05
"""Above this share of its peak a device cannot be: then its peak is not what the data
sheet says, or the program is not what ran."""
NEAR = 3.0
"""An op that takes at most so many times the least time is near its limit: kernels that
are tuned by hand reach from a half to nine tenths of it."""


class WorkKind(Enum):
    """What an op does, as a waterfall names it."""

    PRODUCTS = "products and convolutions"
    SCATTERS = "scatters and gathers"
    REDUCTIONS = "reductions"
    SORTS = "sorts"
    MOVING = "ops that only move data"
    ELEMENTWISE = "elementwise ops"
    UNKNOWN = "kernels without a known cost"


_BY_EFFECT = {
    **dict.fromkeys(("dot", "ragged-dot", "convolution"), WorkKind.PRODUCTS),
    **dict.fromkeys(("scatter", "gather", "select-and-scatter"), WorkKind.SCATTERS),
    **dict.fromkeys(("reduce", "reduce-window"), WorkKind.REDUCTIONS),
    **dict.fromkeys(("sort", "topk"), WorkKind.SORTS),
    **dict.fromkeys(
        """
        broadcast concatenate copy dynamic-slice dynamic-update-slice pad reshape
        reverse slice transpose
        """.split(),
        WorkKind.MOVING,
    ),
}


class LeastTime(msgspec.Struct, frozen=True):
    """Of what was measured, the share that the work needs at least. Above 1 where
    caches serve what was counted as memory, or the device is faster than its data
    sheet.
    """

    moving: float
    """For its bytes."""
    arithmetic: float
    """For its operations."""
    least: float
    """For whichever takes longer, execution by execution."""
    is_open: bool = False
    """Whether it may need more: what a loop inside of it moves is not known, as what it
    reads again in each round may stay in caches."""


class BoundedOp(msgspec.Struct, frozen=True):
    """One op with the time that the devices spend on it in the counted steps."""

    key: OpKey
    """Of the path and kernel that takes most of it."""
    kind: WorkKind
    fraction: float
    """Of the step, 0..1."""
    bound: LeastTime | None
    """None where its cost is not known."""

    @property
    def least(self) -> float:
        """Share of the step that it needs at least; 0 where that is not known."""
        return self.fraction * min(self.bound.least, 1.0) if self.bound else 0.0

    @property
    def is_near(self) -> bool:
        """Whether it is known to be near its limit."""
        return self.bound is not None and self.bound.least * NEAR >= 1.0

    @property
    def may_be_near(self) -> bool:
        """Whether it is not known to be near its limit, nor far from it."""
        is_open = self.bound is None or self.bound.is_open
        return is_open and not self.is_near


class BoundedOps(msgspec.Struct, frozen=True):
    """All that the devices compute."""

    ops: tuple[BoundedOp, ...]
    """The largest first."""
    rest: float
    """Share of the step in ops that are too small to be named."""

    @property
    def least(self) -> float:
        """Share of the step that all of them need at least."""
        return math.fsum(op.least for op in self.ops)

    @property
    def near(self) -> float:
        """Share of the step in ops that are near their limits."""
        return math.fsum(op.fraction for op in self.ops if op.is_near)

    @property
    def unknown(self) -> float:
        """Share of the step in computation whose cost is not known."""
        unknown = (op.fraction for op in self.ops if op.may_be_near)
        return math.fsum((*unknown, self.rest))

    @property
    def unbounded(self) -> float:
        """That of which no least time is known at all."""
        unknown = (op.fraction for op in self.ops if op.bound is None)
        return math.fsum((*unknown, self.rest))


_NO_PROGRAMS = "the trace does not hold the HLO of most of the compute time"
_Name = tuple[str, str]
"""Of an op, else its kernel, and of its program."""


@once
def bounded_ops(run: RunSummary) -> BoundedOps:
    """Raises MetricAbsent where the speed of the devices is not known, or the cost of
    most of what they compute.
    """
    a_device(run)
    computes = class_shares(run)[TimeClass.COMPUTE]
    if not computes:
        raise MetricAbsent("no op begins in a counted step")
    bounds = _bounds(run)
    spent = list(_spent(run))
    scale = computes / max(sum(part.ps for part in spent), 1)
    named = [part for part in spent if part.kernel and not part.activity]
    time = added_up((_name_of(part), part.ps) for part in named)
    overlap = _overlaps(run, time)
    ops = [
        _bounded(part, time[_name_of(part)] * scale, bounds, overlap)
        for part in _largest_of_each(named)
    ]
    ops.sort(key=lambda op: -op.fraction)
    rest = max(computes - math.fsum(op.fraction for op in ops), 0.0)
    found = BoundedOps(tuple(ops), rest)
    if found.unbounded > _ENOUGH_KNOWN * computes:
        raise MetricAbsent(UNKNOWN_COSTS if _holds_programs(run) else _NO_PROGRAMS)
    return found


def _holds_programs(run: RunSummary) -> bool:
    """Whether HLO tells of ops that compute."""
    return any(
        op.known is not None and not op.known.stated
        for host in counted_hosts(run)
        if host.program is not None
        for op in host.program.hot_ops.ops
    )


def _spent(run: RunSummary) -> Iterator[Spent]:
    for host in counted_hosts(run):
        for part in host.evidence.spent:
            if part.kind is TimeClass.COMPUTE:
                yield part


def _name_of(part: Spent) -> _Name:
    return part.op or part.kernel, part.module


def _largest_of_each(named: list[Spent]) -> list[Spent]:
    """Of each op the path and kernel that takes most of its time."""
    found: dict[_Name, Spent] = {}
    for part in named:
        largest = found.setdefault(_name_of(part), part)
        if part.ps > largest.ps:
            found[_name_of(part)] = part
    return list(found.values())


def _bounded(
    part: Spent,
    fraction: float,
    bounds: Mapping[_Name, tuple[WorkKind, LeastTime]],
    overlap: Mapping[_Name, float],
) -> BoundedOp:
    key = (part.path, part.op, part.kernel, part.module)
    known = bounds.get(_name_of(part))
    if known is None:
        return BoundedOp(key, WorkKind.UNKNOWN, fraction, None)
    kind, measured = known
    times = overlap.get(_name_of(part), 1.0)
    bound = LeastTime(
        measured.moving * times,
        measured.arithmetic * times,
        measured.least * times,
        measured.is_open,
    )
    return BoundedOp(key, kind, fraction, bound)


def _overlaps(run: RunSummary, time: Mapping[_Name, int]) -> dict[_Name, float]:
    """How many times as long an op runs as the time that it is given: an instant in
    which several run is shared among them. At least 1.
    """
    total: dict[_Name, int] = {}
    for host in counted_hosts(run):
        for device in host.devices if _overlaps_at_all(host) else ():
            table = device.ops
            rows = table.of_class(DeviceClass.COMPUTE)
            hottest = rows[descending(table.total_ps[rows])]
            hottest = hottest[:_MOST_ROWS]
            taken = table.total_ps[hottest].tolist()
            for key, ps in zip(keys_of(table, hottest), taken, strict=True):
                name = key[1] or key[2], key[3]
                total[name] = total.get(name, 0) + ps
    return {name: max(total.get(name, 0) / ps, 1.0) for name, ps in time.items() if ps}


def _overlaps_at_all(host: HostSummary) -> bool:
    """Whether several ops ever run at once on a device; most devices run one by one."""
    steady = host.steps.steady()
    for device in host.devices:
        rows = device.ops.of_class(DeviceClass.COMPUTE)
        taken = int(device.ops.total_ps[rows].sum())
        covered = int(device.covered_ps[steady, DeviceClass.COMPUTE].sum())
        if taken > _AT_ONCE * covered:
            return True
    return False


# What each op of a program needs at least.


def _bounds(run: RunSummary) -> dict[_Name, tuple[WorkKind, LeastTime]]:
    """By op. Raises MetricAbsent where the devices' speed is not known."""
    found: dict[_Name, tuple[WorkKind, LeastTime]] = {}
    for host in counted_hosts(run):
        if host.program is None:
            continue
        rates = known_rates(run, host)
        for name, kind, bound in _of_host(host, rates):
            found.setdefault(name, (kind, bound))
    return found


def _of_host(
    host: HostSummary,
    rates: Rates,
) -> Iterator[tuple[_Name, WorkKind, LeastTime]]:
    assert host.program is not None
    for hot in host.program.hot_ops.ops:
        if hot.known is None or hot.known.cost.unknown or not hot.total_ps:
            continue
        kind, bound = _kind_of(hot, hot.known), _bound_of(hot, hot.known, rates)
        for _, op, kernel, module in keys_of(host.program_device.ops, hot.rows):
            yield (op or kernel, module), kind, bound
    for program in host.program.products:
        hidden = _hidden_bound(program, rates)
        if hidden is not None:
            for kernel in program.kernels:
                yield (kernel, program.module), WorkKind.PRODUCTS, hidden


def _kind_of(op: HotOp, known: InProgram) -> WorkKind:
    if known.products or kernel_kind(op.kernel).is_matrix:
        return WorkKind.PRODUCTS
    if known.scatters:
        return WorkKind.SCATTERS
    return _BY_EFFECT.get(known.effect, WorkKind.ELEMENTWISE)


def _bound_of(
    op: HotOp,
    known: InProgram,
    rates: Rates,
) -> LeastTime:
    seconds = op.total_ps / PS_PER_S / max(op.count, 1)
    moved = 0 if known.runs_loop else known.cost.bytes
    moving = rates.moving_s(moved) / seconds
    arithmetic = rates.arithmetic_s(op) / seconds
    return LeastTime(moving, arithmetic, max(moving, arithmetic), known.runs_loop)


def _hidden_bound(program: ProgramProducts, rates: Rates) -> LeastTime | None:
    """Of the products whose kernels do not bear their names, all together."""
    seconds = program.kernels_ps / PS_PER_S
    if not program.hidden or not seconds:
        return None
    moving = arithmetic = least = 0.0
    for product in program.hidden:
        if product.count is None:
            return None
        moves = rates.moving_s(product.bytes) * product.count
        takes = (
            rates.product_s(product.flops, product.dtype, program.kernels[0])
            * product.count
        )
        moving += moves
        arithmetic += takes
        least += max(moves, takes)
    return LeastTime(moving / seconds, arithmetic / seconds, least / seconds)


@metric(better=Better.MORE)
def speed_of_light_fraction(question: Question) -> float:
    """Share of step time that the devices need at least for what they compute: for each
    op its bytes over their memory's bandwidth, or its operations over their peak in the
    type that it multiplies, whichever is more. Ops of unknown cost count as nothing.
    """
    return bounded_ops(question.run).least


@metric(better=Better.MORE)
def near_limit_fraction(question: Question) -> float:
    """Share of step time in ops that take at most three times as long as the devices
    need at least for them, by bandwidth or peak.
    """
    return bounded_ops(question.run).near


@metric(better=Better.NEITHER)
def unknown_cost_fraction(question: Question) -> float:
    """Share of step time in computation of which the trace does not tell how many bytes
    it moves and operations it does.
    """
    return bounded_ops(question.run).unknown


# How much of the devices' peak the products get.


@metric(better=Better.MORE)
def mfu(question: Question) -> float:
    """Model FLOPs utilisation: operations of the matrix products and convolutions of a
    step, from the programs' HLO, over what the device could do in a step's time at its
    peak in the type of each. What a program computes again in its backward pass counts;
    attention in kernels of a library does not, as HLO does not tell its operations.
    """
    run = question.run
    a_device(run)
    host = next(host for host in counted_hosts(run) if host.devices)
    rates = known_rates(run, host)
    if host.program is None:
        raise MetricAbsent("no op begins in a counted step")
    least = _products_s(host, rates)
    index = host.program.device
    counted = host.takes_part[index] & host.steps.steady()
    seconds = int(host.breakdown[index, counted].sum()) / PS_PER_S
    if not seconds:
        raise MetricAbsent("the device takes part in no counted step")
    if least > _AS_STATED * seconds:
        raise MetricAbsent(
            "at the device's peak the products of a step would take "
            f"{least / seconds:.1f} times the time that the step takes"
        )
    return min(least / seconds, 1.0)


def _products_s(host: HostSummary, rates: Rates) -> float:
    """Seconds that all products of the counted steps take at the device's peak."""
    assert host.program is not None
    seconds = []
    for program in host.program.products:
        kernel = program.kernels[0] if program.kernels else ""
        for product in program.products:
            if product.count is None:
                raise MetricAbsent(
                    f"the trace does not tell how often {program.module} multiplies"
                )
            name = kernel if product.is_hidden else ""
            seconds.append(
                rates.product_s(product.flops, product.dtype, name) * product.count
            )
    if not host.program.products:
        seconds = [
            rates.arithmetic_s(op) * op.count
            for op in host.program.hot_ops.ops
            if op.known is not None and op.known.products
        ]
    if not any(seconds):
        raise MetricAbsent("the trace holds no HLO of a product or convolution")
    return math.fsum(seconds)
