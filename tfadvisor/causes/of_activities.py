"""The cause of each activity of the host, from what lies inside of its time."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from tfadvisor.causes.cause import Cause, Done
from tfadvisor.timeline import Steps, StepSource
from tfadvisor.timeline.attribution import Inside, Spent
from tfadvisor.timeline.names.classes import is_keras_step
from tfadvisor.timeline.names.doings import Doing
from tfadvisor.timeline.names.host_activities import DISPATCHES
from tfadvisor.timeline.names.host_events import called_function, single_op
from tfadvisor.timeline.names.program_calls import jitted_function
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import HostSummary
from tfadvisor.units import PS_PER_MS
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes.program_source import ProgramSource, Tie

_EVERY, _MOST = 0.9, 0.5
"""Shares of the counted steps from which a cost lies in every one, or in most: a step
that the window's ends cut may lack it.
"""
_MOSTLY, _FEW = 0.9, 1 / 3
"""What has this share of its time in so few of the steps lies in these."""
_TELLING_STEPS = 3
"""From fewer steps nobody can say what is in every one."""
_WORTH_A_WORD = 0.05
"""Of a place's time."""
_MOST_DONE = 4
_MOST_NAMED = 3
Key = tuple[TimeClass, str]


def causes_of(
    run: RunSummary,
    source: ProgramSource | None = None,
) -> dict[Key, Cause]:
    """By class and activity. Of several hosts the one that has most of it speaks.
    source: the program's files, where they are given.

    A report asks often about one run, so the answer to the last one is kept.
    """
    if not _held or _held[0][0]() is not run:
        _held[:] = [(weakref.ref(run), _untied(run))]
    causes = _held[0][1]
    return causes if source is None else _tied(causes, run, source)


_held: list[tuple[weakref.ref[RunSummary], dict[Key, Cause]]] = []


def _untied(run: RunSummary) -> dict[Key, Cause]:
    found: dict[Key, tuple[int, Cause]] = {}
    for host in run.hosts:
        counted = _as_bits(host.steps)
        for key, parts in _by_activity(host).items():
            ps = sum(part.ps for part in parts)
            if key not in found or ps > found[key][0]:
                found[key] = ps, _cause(parts, host.steps, counted)
    return {key: cause for key, (_, cause) in found.items()}


def _tied(
    causes: dict[Key, Cause],
    run: RunSummary,
    source: ProgramSource,
) -> dict[Key, Cause]:
    """With what the program's source says of the calls in its loop."""
    tied, ties = dict(causes), ties_of(run, source)
    for key, part in _largest(run).items():
        cause, tie = causes.get(key, _NOTHING_INSIDE), ties.get(key)
        if cause is _NOTHING_INSIDE and tie is None:
            continue
        cause = replace(cause, witness=source.witness(part))
        if tie is not None:
            cause = replace(cause, tie=tie.tie, line=tie.line, source=tie.text)
        tied[key] = cause
    return tied


def ties_of(run: RunSummary, source: ProgramSource) -> dict[Key, Tie]:
    """How the source ties activities to the step, where it does, by class and
    activity.
    """
    steps = _dispatched(run, source).union(
        part.activity.removeprefix(DISPATCHES)
        for part in _spent(run)
        if part.activity.startswith(DISPATCHES)
    )
    found = {
        key: source.tie(part.file, part.function, steps, part.line)
        for key, part in _largest(run).items()
    }
    return {key: tie for key, tie in found.items() if tie is not None}


def _spent(run: RunSummary) -> list[Spent]:
    """The longest first."""
    spent = [part for host in run.hosts for part in host.evidence.spent]
    return sorted(spent, key=lambda part: -part.ps)


def _largest(run: RunSummary) -> dict[Key, Spent]:
    """Of each activity the part that takes most of those with a place."""
    largest: dict[Key, Spent] = {}
    for part in _spent(run):
        if part.file:
            largest.setdefault((part.kind, part.activity), part)
    return largest


_NOTHING_INSIDE = Cause((), None, "", 0, 0, 0.0)
"""Of an activity that samples alone name: no event lies inside of it."""
_KERAS = frozenset({"train_on_batch", "test_on_batch", "predict_on_batch"})
"""How programs call the functions that Keras compiles."""


def _dispatched(run: RunSummary, source: ProgramSource) -> frozenset[str]:
    """Names under which the program calls what the steps dispatch, as far as it
    compiles that itself, or Keras does for a model.
    """
    calls = {name for host in run.hosts for name in host.evidence.calls.by_name}
    names = {jitted_function(name) or called_function(name) for name in calls}
    found = frozenset(name for name in names if source.compiles(name))
    return found | (_KERAS if any(map(is_keras_step, names)) else frozenset())


def _by_activity(host: HostSummary) -> dict[Key, list[Inside]]:
    found: dict[Key, list[Inside]] = {}
    for part in host.evidence.inside:
        found.setdefault((part.kind, part.activity), []).append(part)
    return found


def _as_bits(steps: Steps) -> int:
    """Bit i where step i counts, as `Inside.steps` has them."""
    packed = np.packbits(steps.steady(), bitorder="little")
    return int.from_bytes(packed.tobytes(), "little")


def _cause(
    parts: Sequence[Inside],
    steps: Steps,
    counted: int,
) -> Cause:
    """counted: of _as_bits."""
    in_steps = _steps_of(parts, counted)
    of_steps = counted.bit_count()
    return Cause(
        does=_does(parts, has_steps=steps.source is not StepSource.WHOLE_TRACE),
        tie=None,
        often=_often(in_steps, of_steps),
        count=in_steps,
        of_steps=of_steps,
        worst_ms=_worst_ps(parts, in_steps) / PS_PER_MS,
    )


def _steps_of(
    parts: Sequence[Inside],
    counted: int,
) -> int:
    """How many of the counted steps have any; of what lies in few steps for the most
    part, how many have most of it.
    """
    whole = sum(part.ps for part in parts)
    every, bearing, seen = 0, 0, 0
    for part in sorted(parts, key=lambda part: -part.ps):
        every |= part.steps
        if seen < _MOSTLY * whole:
            bearing |= part.bearing
        seen += part.ps
    few = (bearing & counted).bit_count()
    if 0 < few <= _FEW * counted.bit_count():
        return few
    return (every & counted).bit_count()


def _worst_ps(
    parts: Sequence[Inside],
    in_steps: int,
) -> int:
    """In one step at least: of several the worst of each part may lie in another."""
    worst = [part.worst_ps for part in parts]
    return sum(worst) if in_steps == 1 else max(worst)


def _often(
    in_steps: int,
    counted: int,
) -> str:
    if not in_steps or not counted:
        return ""
    if counted < _TELLING_STEPS:
        return ""
    share = in_steps / counted
    if share >= _EVERY:
        return "every"
    if share >= _MOST:
        return "most"
    return "once" if in_steps == 1 else "some"


def _done(
    doing: Doing,
    parts: list[Inside],
    fraction: float,
) -> Done:
    """Of ops all are counted and the first few named; else the event that takes
    most.
    """
    parts.sort(key=lambda part: -part.ps)
    if doing is Doing.OPS:
        names = dict.fromkeys(single_op(part.by) for part in parts)
        steps, count = 0, 0
        for part in parts:
            steps |= part.steps
            count += part.count
        by = ", ".join(list(names)[:_MOST_NAMED])
        per_step = count / max(steps.bit_count(), 1)
        return Done(doing.words, by, fraction, per_step, doing.slug)
    largest = parts[0]
    per_step = largest.count / max(largest.steps.bit_count(), 1)
    return Done(doing.words, largest.by, fraction, per_step, doing.slug)


def _does(
    parts: Sequence[Inside],
    *,
    has_steps: bool,
) -> tuple[Done, ...]:
    """has_steps: else nothing is counted a step."""
    whole = sum(part.ps for part in parts)
    by_doing: dict[Doing, list[Inside]] = {}
    for part in parts:
        if part.doing is not Doing.UNKNOWN:
            by_doing.setdefault(part.doing, []).append(part)
    found = []
    for doing, mine in by_doing.items():
        ps = sum(part.ps for part in mine)
        if ps < _WORTH_A_WORD * whole:
            continue
        done = _done(doing, mine, ps / whole)
        found.append(done if has_steps else replace(done, count=0.0))
    return tuple(sorted(found, key=lambda entry: -entry.fraction))[:_MOST_DONE]
