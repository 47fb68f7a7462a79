"""What comes next for a program that is to be recorded, by what it has shown: wait,
count the rounds of its loop, look, look again and longer, record.

Pure: a state says what is to be done, and `next_state` what follows from that. No
process, no file and no clock; `conduct` has these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from tfadvisor.act.record.choosing import (
    RecordedRun,
    RecordRequest,
    window_seconds,
)
from tfadvisor.act.record.pace import Pace
from tfadvisor.act.record.rounds import CountedRounds, ProgramLoop
from tfadvisor.act.record.settling import PATIENCE_SECONDS, Ready
from tfadvisor.act.record.window import NoWindow, RecordedWindow

_LOOKS = 14
_LOOK_GROWS = 2.0
_FIRST_QUIET_SECONDS = 0.3
_LONGEST_QUIET_SECONDS = 20.0
_LESS_IMPATIENT = 1.5
"""How much longer it waits for a pause in compiling, each time that it did so in vain.
"""
_UNSETTLED_LOOKS = 3
"""Looks one after the other that show the same steps, which compile, before it is
believed that they always do.
"""
_RESTLESS_LOOKS = 2
"""The same where nothing but compiling was seen in between."""
_RESTLESS_STEPS = 8
"""At most, there: such steps are long, and alike."""
_ONE_CALL_MS = 100.0
"""A longer step may itself be the call in which the program was for a second."""
_SHORT_LOOKS = 2
"""After which what was seen is the step, and as many as there are."""
_OF_A_ROUND = 0.5
"""What takes less of a round of the loop is a part of the step, unless longer looks
show it too.
"""
ROUNDS_SECONDS = 3.0
"""For which rounds are counted."""
_ENOUGH_LOOKS = 4
"""After which a program that never came to steps is told about all the same."""
_CUT_SHORT = 0.5
"""Of the look before, that one takes which the program's end cuts off."""
_OTHER_WORK = 2
"""Recordings of an evaluation or the like after which that is what the program does."""
_SLOWER = 2
"""Until one has gone round, each of so many looks lasts up to twice as long as the one
before.
"""


class LooksSoFar(msgspec.Struct, frozen=True):
    """What all looks together have shown."""

    wanted: RecordRequest
    looks: int = 0
    """How many there were."""
    ready: Ready | None = None
    """The processes that train; None before any did."""
    restless: int = 0
    """Times that nothing but compiling was seen."""
    loop: ProgramLoop | None = None
    """The program's, before it was looked at last."""
    inside: str = ""
    """As of the rounds that were counted last."""
    short: int = 0
    """Looks too short for whole rounds of the loop, or for enough of them."""
    compiles: Pace | None = None
    """The steps of the last look that compiled in its steps."""
    alike: int = 0
    """Such looks, one after the other, with the same steps."""
    best: RecordedWindow | None = None
    """Of the looks that showed steps."""
    last: RecordedWindow | None = None
    """Of those that showed none."""
    passed: ProgramLoop | None = None
    """The first loop that was over once it was recorded."""
    kept: RecordedRun | None = None
    """Recorded last."""
    beside: int = 0
    """Recordings that held something else than steps."""
    why: str | None = None
    """What stood in the way of a look last, None for nothing."""
    failed: bool = False
    """The profiler failed, and is not started again."""

    @property
    def found(self) -> RecordedRun | None:
        """The recording; of a program in which none came about its best look, else the
        last one, if the program goes round or was looked at again and again; None
        without any.
        """
        is_enough = self.loop is not None or self.looks >= _ENOUGH_LOOKS
        look = self.best or (self.last if is_enough else None)
        if self.kept is not None or look is None:
            return self.kept
        return RecordedRun(look, look, rounds=(self.loop, None), wanted=self.wanted)


# What is to be done.


class Wait(msgspec.Struct, frozen=True):
    """Until the program may train."""

    known: LooksSoFar

    @property
    def quiet_seconds(self) -> float:
        """For which nothing compiles then."""
        quiet = _FIRST_QUIET_SECONDS * 2.0**self.known.looks
        return min(quiet, _LONGEST_QUIET_SECONDS)

    @property
    def patience_seconds(self) -> float:
        """After which all that compiles without end is taken for training."""
        impatience: float = _LESS_IMPATIENT**self.known.restless
        return PATIENCE_SECONDS * impatience


class Count(msgspec.Struct, frozen=True):
    """The rounds of the program's loop, while nothing is recorded."""

    known: LooksSoFar

    @property
    def seconds(self) -> float:
        """At most."""
        longer = 2.0 ** min(self.known.looks, _SLOWER)
        return ROUNDS_SECONDS * longer


class Look(msgspec.Struct, frozen=True):
    """A window to find steps in, without calls of Python."""

    known: LooksSoFar

    @property
    def seconds(self) -> float:
        """How long it is open."""
        known = self.known
        look = known.wanted.first_look_seconds * _LOOK_GROWS**known.looks
        compiling = known.ready.seconds if known.ready is not None else 0.0
        recording = 0.0
        if known.loop is not None:  # it goes round: what is seen may be recorded
            wanted = _with_fewer(known) if _is_restless(known) else known.wanted
            recording = window_seconds(known.loop.median_ms, wanted)
        return max(look, compiling, recording * _LOOK_GROWS**known.short)


class Record(msgspec.Struct, frozen=True):
    """The steps that a look has shown."""

    known: LooksSoFar
    look: RecordedWindow
    wanted: RecordRequest
    """As asked for, as far as such steps allow it."""


class Finished(msgspec.Struct, frozen=True):
    """There is a recording, or none will be."""

    known: LooksSoFar


State: TypeAlias = Wait | Count | Look | Record | Finished


# What is seen.


class Over(msgspec.Struct, frozen=True):
    """The program has ended, its processes have, or the time for a report is over."""


class TriedRecording(msgspec.Struct, frozen=True):
    """The steps were recorded. after: the rounds that were counted then."""

    run: RecordedRun
    after: CountedRounds
    beside: bool = False
    """The program evaluated, saved or ended an epoch instead, for most of the time."""


Seen: TypeAlias = (
    Ready | CountedRounds | RecordedWindow | NoWindow | TriedRecording | Over
)


# What follows.


def first_state(wanted: RecordRequest) -> State:
    """Nothing is known."""
    return Wait(LooksSoFar(wanted))


def next_state(state: State, seen: Seen) -> State:
    """After what a state asked for has shown this."""
    follows = _TABLE[type(state), type(seen)]
    return follows(state, seen)


def _done(state: State, _seen: Over) -> State:
    return Finished(state.known)


def _count(state: Wait, seen: Ready) -> State:
    restless = state.known.restless + seen.restless
    return Count(replace(state.known, ready=seen, restless=restless))


def _look(state: Count, seen: CountedRounds) -> State:
    loop = seen.loop or state.known.loop
    return Look(replace(state.known, loop=loop, inside=seen.inside))


def _without_look(state: Look, seen: NoWindow) -> State:
    known = replace(state.known, why=seen.why, failed=seen.is_last)
    return Finished(known) if known.failed else _again(known)


def _judge(state: Look, look: RecordedWindow) -> State:
    pace = look.pace
    if pace is None:
        return _again(replace(state.known, last=_last(state.known.last, look)))

    known = replace(
        state.known,
        best=_better(state.known.best, look),
    )
    if not pace.repeats:
        return _again(known)

    if pace.compiles:
        known = _with_compiling(known, pace)
        if not _always_compiles(known):
            return _again(known)

    is_part = _is_part(known, pace) and not known.wanted.names(look)
    if is_part or _is_too_short(known, look):
        return _again(replace(known, short=known.short + 1))
    return Record(known, look, _wanted_of(known, pace))


def _keep(state: Record, seen: TriedRecording) -> State:
    known, look = state.known, state.look
    rounds = known.loop, seen.after.loop
    inside = seen.after.inside if _is_short(look.pace) else ""
    kept = replace(
        seen.run,
        rounds=rounds,
        wanted=known.wanted,
        inside=inside,
    )
    known = replace(
        known,
        kept=kept,
        inside=seen.after.inside,
    )
    if seen.beside and known.beside < _OTHER_WORK:
        return _again(replace(known, beside=known.beside + 1))
    if _is_too_short(known, seen.run.chosen):
        return _again(replace(known, short=known.short + 1))
    if _goes_on(known, seen.after.loop):
        return Finished(known)

    # Another loop goes on: that one was over, as what checks or sets up before
    # training.
    return _again(replace(known, passed=known.passed or known.loop))


_TABLE: Mapping[tuple[type, type], Callable[[Any, Any], State]] = {
    (Wait, Ready): _count,
    (Wait, Over): _done,
    (Count, CountedRounds): _look,
    (Look, NoWindow): _without_look,
    (Look, RecordedWindow): _judge,
    (Look, Over): _done,
    (Record, TriedRecording): _keep,
}
"""By state and by what was seen."""


def _again(known: LooksSoFar) -> State:
    """Another look, unless there were enough."""
    known = replace(known, looks=known.looks + 1)
    return Wait(known) if known.looks < _LOOKS else Finished(known)


def _last(before: RecordedWindow | None, look: RecordedWindow) -> RecordedWindow:
    """Of two without steps the later, unless it is cut off."""
    if before is not None and look.seconds < _CUT_SHORT * before.seconds:
        return before
    return look


def _better(
    best: RecordedWindow | None,
    look: RecordedWindow,
) -> RecordedWindow:
    """Of two with steps the later, unless only the earlier one's do not compile."""
    if best is None or best.pace is None or look.pace is None:
        return look
    return best if look.pace.compiles and not best.pace.compiles else look


def _with_compiling(known: LooksSoFar, pace: Pace) -> LooksSoFar:
    """Whether steps that compile are those of the program, and no part of its start:
    looks one after the other show the same.
    """
    again = known.compiles is not None and pace.resembles(known.compiles)
    return replace(
        known,
        compiles=pace,
        alike=known.alike + 1 if again else 1,
    )


def _always_compiles(known: LooksSoFar) -> bool:
    return known.alike >= (_RESTLESS_LOOKS if _is_restless(known) else _UNSETTLED_LOOKS)


def _is_restless(known: LooksSoFar) -> bool:
    return known.ready is not None and known.ready.restless


def _is_too_short(known: LooksSoFar, look: RecordedWindow) -> bool:
    if known.short >= _SHORT_LOOKS:
        return False
    return look.cut_in_vain and look.steps < known.wanted.steps


def _is_part(known: LooksSoFar, pace: Pace) -> bool:
    """Whether what repeats may be a part of a round. Recording slows the program: too
    few rounds may be in a window for the step to be seen.
    """
    if known.loop is None or known.short >= _SHORT_LOOKS:
        return False
    return pace.median_ms < _OF_A_ROUND * known.loop.median_ms


def _wanted_of(known: LooksSoFar, pace: Pace) -> RecordRequest:
    wanted = known.wanted
    if pace.compiles and _is_restless(known):
        wanted = _with_fewer(known)
    if known.inside and _is_short(pace):
        # All steps are in one call, so that no other one says anything.
        wanted = replace(wanted, python_tracer=False)
    return wanted


def _with_fewer(known: LooksSoFar) -> RecordRequest:
    return replace(known.wanted, steps=min(known.wanted.steps, _RESTLESS_STEPS))


def _is_short(pace: Pace | None) -> bool:
    return pace is not None and pace.median_ms < _ONE_CALL_MS


def _goes_on(
    known: LooksSoFar,
    after: ProgramLoop | None,
) -> bool:
    """Whether the loop that was recorded goes on, or one that came back after another;
    or nobody knows.
    """
    if known.loop is None or after is None or after.is_of(known.loop):
        return True
    return known.passed is not None and after.is_of(known.passed)
