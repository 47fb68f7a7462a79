"""Where the step goes, as the report has it: class, activity, place, each level adding
up to the one above.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from tfadvisor.arrays import median
from tfadvisor.metrics.layers import ComputedOp, parts_of
from tfadvisor.metrics.registry import MetricAbsent
from tfadvisor.metrics.steady import class_shares, counted_hosts, periods_ms
from tfadvisor.printable import cut
from tfadvisor.report.model import ActivityTime, ClassTime, Place, PlacedTime
from tfadvisor.report.wording import OTHER
from tfadvisor.tallies import added_up, listed
from tfadvisor.timeline.attribution.spent import NOT_RECORDED, Spent
from tfadvisor.timeline.names.device_events import instruction_name
from tfadvisor.timeline.names.host_events import op_type
from tfadvisor.timeline.names.op_path import op_name
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.units import number_of
from tfadvisor.vocabulary import TimeClass

_MOST = 10
"""Parts of a node that are listed one by one."""
_LEAST = 0.0005
"""Share of the step below which a part is not listed on its own."""
_MOST_PLACES = 3
_NOTHING = 1e-9
UNRECORDED = f"{NOT_RECORDED}: what the devices do"


_NUMBER = re.compile(r"\.\d+$")
_NOWHERE = Place("", None, "", "", "", "", "")


class _Named(msgspec.Struct, frozen=True):
    """What takes time, by a wide and a narrow name; "" for what is not named. fraction:
    of the step.
    """

    activity: str
    detail: str
    place: Place
    fraction: float


def attribution(run: RunSummary) -> tuple[tuple[ClassTime, ...], str]:
    """(the classes that take any time, the largest first; why there are none, else "").
    They add up to the step.
    """
    try:
        shares, step_ms = class_shares(run), float(median(periods_ms(run)))
    except MetricAbsent as absent:
        return (), str(absent)
    spent = list(_spent(run))
    found = []
    for kind, share in shares.items():
        mine = [one for one in spent if one.kind is kind]
        scale = share / max(sum(one.ps for one in mine), 1)
        named = [
            *_computed(run, mine, scale),
            *(_other_work(one, scale) for one in mine if one.activity),
        ]
        if share:
            found.append(
                ClassTime(
                    kind.label,
                    share,
                    share * step_ms,
                    tuple(_activities(named, share, step_ms)),
                )
            )
    return tuple(sorted(found, key=lambda one: -one.fraction)), ""


def _spent(run: RunSummary) -> Iterator[Spent]:
    """Of all counted hosts. Where a host's devices are not recorded all of its time is
    idle.
    """
    for host in counted_hosts(run):
        if host.evidence.spent:
            yield from host.evidence.spent
        else:
            idle = int(
                host.breakdown[host.takes_part & host.steps.steady()[None, :]].sum()
            )
            yield Spent(TimeClass.IDLE, UNRECORDED, ps=idle)


def _computed(
    run: RunSummary, spent: Sequence[Spent], scale: float
) -> Iterator[_Named]:
    """The ops that the devices compute, by their type and name."""
    own = (one for one in spent if one.kernel and not one.activity)
    time = added_up(((one.path, one.op, one.kernel, one.module), one.ps) for one in own)
    for key, part in parts_of(run, time, dict.fromkeys(time, 0)).items():
        kind = (
            part.op_type or _NUMBER.sub("", instruction_name(part.name)) or part.name
        )  # of `fusion.3` it is `fusion`
        yield _Named(kind, part.name, _place_of(part, key[2]), part.total_ps * scale)


def _place_of(part: ComputedOp, kernel: str) -> Place:
    file, _, line = part.line.rpartition(":")
    function = next(
        (
            one.partition(" ")[0]
            for one in reversed(part.stack)
            if one.endswith(f" {part.line}")
        ),
        "",
    )
    return Place(
        file,
        number_of(line),
        function,
        "",
        part.layer,
        part.name,
        _kernel(kernel, part.name),
    )


def _kernel(kernel: str, op: str) -> str:
    """Of an op; "" where the device has no kernels and so bears the op's own name:
    `MatMul:MatMul`, `%fusion.3 = f32[8] …`.
    """
    own = (
        instruction_name(kernel).rpartition(":")[0]
        if op_type(kernel)
        else instruction_name(kernel)
    )
    return "" if own.endswith(op) or own == op else kernel


def _other_work(one: Spent, scale: float) -> _Named:
    op = one.op or op_name(one.path)
    place = Place(
        one.file,
        one.line or None,
        one.function,
        one.stage,
        "",
        op,
        _kernel(one.kernel, op),
    )
    return _Named(one.activity, cut(one.detail, 120), place, one.ps * scale)


def _activities(
    named: Sequence[_Named], whole: float, step_ms: float
) -> Iterator[ActivityTime]:
    """The largest, and what they leave of the whole."""
    told, rest = _largest(named, lambda one: one.activity, whole)
    for name, mine, fraction in told:
        parts, left = _largest(mine, lambda one: one.detail, fraction)
        placed = [
            PlacedTime(detail, part, part * step_ms, _places(inside))
            for detail, inside, part in parts
        ]
        if placed and left > _NOTHING:
            placed.append(PlacedTime(OTHER, left, left * step_ms, ()))
        alone = len(placed) == 1 and placed[0].activity == name
        yield ActivityTime(
            name,
            fraction,
            fraction * step_ms,
            _places(mine),
            () if alone else tuple(placed),
        )
    if rest > _NOTHING or not told:  # a class of a few picoseconds has a part too
        yield ActivityTime(OTHER, rest, rest * step_ms, (), ())


def _largest(
    named: Sequence[_Named], name_of: Callable[[_Named], str], whole: float
) -> tuple[list[tuple[str, list[_Named], float]], float]:
    """((name, its entries, their share of the step) of the largest names, what they
    leave of the whole).
    """
    found = listed((name, one) for one in named if (name := name_of(one)))
    summed = [
        (name, mine, math.fsum(one.fraction for one in mine))
        for name, mine in found.items()
    ]
    summed.sort(key=lambda one: -one[2])
    told = [one for one in summed[:_MOST] if one[2] >= _LEAST]
    return told, whole - math.fsum(fraction for _, _, fraction in told)


def _places(named: Sequence[_Named]) -> tuple[Place, ...]:
    """Where most of them happen, those that take most first; of several on one line the
    first.
    """
    time = added_up((one.place, one.fraction) for one in named if one.place != _NOWHERE)
    ordered = sorted(time, key=lambda place: -time[place])
    lines = {
        (one.file, one.line) if one.file else one: one for one in reversed(ordered)
    }
    return tuple(
        one
        for one in ordered
        if lines[(one.file, one.line) if one.file else one] is one
    )[:_MOST_PLACES]
