"""Where the step goes, as the report has it: class, activity, place, each level adding
up to the one above.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tfadvisor.arrays import median
from tfadvisor.causes import Cause, causes_of
from tfadvisor.metrics import MetricAbsent, class_shares, counted_hosts, periods_ms
from tfadvisor.metrics.layers import ComputedOp, OpKey, parts_of
from tfadvisor.printable import cut
from tfadvisor.report.model import ActivityTime, ClassTime, Place, PlacedTime
from tfadvisor.report.wording import OTHER
from tfadvisor.tallies import added_up, listed
from tfadvisor.timeline.attribution import NOT_RECORDED, Spent
from tfadvisor.timeline.names.device_events import instruction_name
from tfadvisor.timeline.names.host_events import op_type
from tfadvisor.timeline.names.op_path import op_name
from tfadvisor.timeline.run import RunSummary
from tfadvisor.units import number_of
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource

_MOST = 10
"""Parts of a node that are listed one by one."""
_LEAST = 0.0005
"""Share of the step below which a part is not listed on its own."""
_MOST_PLACES = 3
_NOTHING = 1e-9
_LONGEST = 120
"""Characters of a call, op or event."""
UNRECORDED = f"{NOT_RECORDED}: what the devices do"

_NUMBER = re.compile(r"\.\d+$")
_NOWHERE = Place("", None, "", "", "", "", "")


class NamedTime(msgspec.Struct, frozen=True):
    """What takes time, by a wide and a narrow name; "" for what is not named. fraction:
    of the step.
    """

    activity: str
    detail: str
    place: Place
    fraction: float


class _Group(msgspec.Struct, frozen=True):
    """What bears one name."""

    name: str
    members: list[NamedTime]
    fraction: float
    """Of the step."""


def attribution(
    run: RunSummary, source: ProgramSource | None = None
) -> tuple[tuple[ClassTime, ...], str]:
    """(the classes that take any time, the largest first; why there are none, else "").
    They add up to the step. source: the program's files, where they are given.
    """
    try:
        shares = class_shares(run)
        step_ms = float(median(periods_ms(run)))
    except MetricAbsent as absent:
        return (), str(absent)

    causes = causes_of(run, source)
    found = []
    for kind, named in named_time(run, shares, source).items():
        share = shares[kind]
        parts = tuple(
            _with_cause(activity, causes.get((kind, activity.activity)))
            for activity in _activities(named, share, step_ms)
        )
        found.append(ClassTime(kind.label, share, share * step_ms, parts))
    found.sort(key=lambda class_time: -class_time.fraction)
    return tuple(found), ""


def named_time(
    run: RunSummary,
    shares: Mapping[TimeClass, float],
    source: ProgramSource | None,
) -> dict[TimeClass, list[NamedTime]]:
    """What each class that takes any time is spent on. shares: of step time."""
    spent = listed((part.kind, part) for part in _spent(run))
    return {
        kind: _named(run, spent.get(kind, []), share, source)
        for kind, share in shares.items()
        if share
    }


def _with_cause(activity: ActivityTime, cause: Cause | None) -> ActivityTime:
    if cause is None or not (cause.does or cause.often or cause.tie):
        return activity
    return replace(activity, cause=cause)


def _spent(run: RunSummary) -> Iterator[Spent]:
    """Of all counted hosts. Where a host's devices are not recorded all of its time is
    idle.
    """
    for host in counted_hosts(run):
        if host.evidence.spent:
            yield from host.evidence.spent
        else:
            idle = host.breakdown[host.counted].sum()
            yield Spent(TimeClass.IDLE, UNRECORDED, ps=int(idle))


def _named(
    run: RunSummary,
    spent: Sequence[Spent],
    share: float,
    source: ProgramSource | None,
) -> list[NamedTime]:
    """What the time of one class is spent on. share: that all of it takes."""
    whole = sum(part.ps for part in spent)
    scale = share / max(whole, 1)

    named = list(_computed(run, spent, scale))
    for part in spent:
        if part.activity:
            named.append(_other_work(part, scale, source))
    return named


def _computed(
    run: RunSummary,
    spent: Sequence[Spent],
    scale: float,
) -> Iterator[NamedTime]:
    """The ops that the devices compute, by their type and name."""
    time: dict[OpKey, int] = {}
    for piece in spent:
        if piece.kernel and not piece.activity:
            key = (piece.path, piece.op, piece.kernel, piece.module)
            time[key] = time.get(key, 0) + piece.ps

    never = dict.fromkeys(time, 0)
    for (_, _, kernel, _), part in parts_of(run, time, never).items():
        yield NamedTime(
            activity=_type_of(part),
            detail=part.name,
            place=place_of(part, kernel),
            fraction=part.total_ps * scale,
        )


def _type_of(part: ComputedOp) -> str:
    """Its framework's, else that of its instruction: `fusion` of `fusion.3`."""
    instruction = _NUMBER.sub("", instruction_name(part.name))
    return part.op_type or instruction or part.name


def place_of(part: ComputedOp, kernel: str) -> Place:
    """Where an op that a device computes comes from. kernel: what ran for it."""
    file, _, line = part.line.rpartition(":")
    return Place(
        file=file,
        line=number_of(line),
        function=_function_at(part.line, part.stack),
        stage="",
        layer=part.layer,
        op=part.name,
        kernel=_kernel(kernel, part.name),
    )


def _function_at(
    line: str,
    stack: Sequence[str],
) -> str:
    """The innermost call of the stack that stands there."""
    for call in reversed(stack):
        if call.endswith(f" {line}"):
            return call.partition(" ")[0]
    return ""


def _kernel(kernel: str, op: str) -> str:
    """Of an op; "" where the device has no kernels and so bears the op's own name:
    `MatMul:MatMul`, `%fusion.3 = f32[8] …`.
    """
    own = instruction_name(kernel)
    if op_type(kernel):
        own = own.rpartition(":")[0]
    return "" if own.endswith(op) else kernel


def _other_work(part: Spent, scale: float, source: ProgramSource | None) -> NamedTime:
    line = part.line if source is None else source.line_of(part)
    op = part.op or op_name(part.path)
    place = Place(
        file=part.file,
        line=line or None,
        function=part.function,
        stage=part.stage,
        layer="",
        op=op,
        kernel=_kernel(part.kernel, op),
    )
    detail = cut(part.detail, _LONGEST)
    return NamedTime(
        part.activity,
        detail,
        place,
        part.ps * scale,
    )


def _activities(
    named: Sequence[NamedTime],
    whole: float,
    step_ms: float,
) -> Iterator[ActivityTime]:
    """The largest, and what they leave of the whole."""
    largest, rest = _largest(named, attrgetter("activity"), whole)
    for group in largest:
        parts = _parts(group, step_ms)
        alone = len(parts) == 1 and parts[0].activity == group.name
        yield ActivityTime(
            activity=group.name,
            fraction=group.fraction,
            ms=group.fraction * step_ms,
            places=_places(group.members),
            parts=() if alone else tuple(parts),
        )
    if rest > _NOTHING or not largest:  # a class of a few picoseconds has a part too
        yield ActivityTime(OTHER, rest, rest * step_ms, (), ())


def _parts(
    activity: _Group,
    step_ms: float,
) -> list[PlacedTime]:
    """Its largest calls, ops and events, and what they leave of it."""
    detail_of = attrgetter("detail")
    largest, rest = _largest(activity.members, detail_of, activity.fraction)
    parts = []
    for group in largest:
        ms = group.fraction * step_ms
        places = _places(group.members)
        parts.append(PlacedTime(group.name, group.fraction, ms, places))
    if parts and rest > _NOTHING:
        parts.append(PlacedTime(OTHER, rest, rest * step_ms, ()))
    return parts


def _largest(
    named: Sequence[NamedTime],
    name_of: Callable[[NamedTime], str],
    whole: float,
) -> tuple[list[_Group], float]:
    """(the largest names, what they leave of the whole)."""
    by_name = listed((name_of(part), part) for part in named)
    by_name.pop("", None)
    groups = []
    for name, members in by_name.items():
        fraction = math.fsum(member.fraction for member in members)
        groups.append(_Group(name, members, fraction))
    groups.sort(key=lambda group: -group.fraction)

    largest = [group for group in groups[:_MOST] if group.fraction >= _LEAST]
    in_them = math.fsum(group.fraction for group in largest)
    return largest, whole - in_them


def _places(named: Sequence[NamedTime]) -> tuple[Place, ...]:
    """Where most of them happen, those that take most first; of several on one line the
    first.
    """
    time = added_up((part.place, part.fraction) for part in named)
    time.pop(_NOWHERE, None)

    first_on_line: dict[tuple[str, int | None] | Place, Place] = {}
    for place in sorted(time, key=lambda place: -time[place]):
        line = (place.file, place.line) if place.file else place
        first_on_line.setdefault(line, place)
    return tuple(first_on_line.values())[:_MOST_PLACES]
