"""The account of a run: what its wall time since the first step goes into, by samples
of its main thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import BoolArray, Int64Array, descending, distinct, falses, zeros
from tfadvisor.causes.account import (
    BUILDING,
    BUILDING_A_GRAPH,
    FIRST_BATCH,
    FIRST_STEP,
    FREEING,
    LONG_PAUSES,
    LONG_STAYS,
    STEPS,
    WAITING,
    BeforeSteps,
    RunAccount,
    RunPart,
    RunPlace,
    RunShare,
)
from tfadvisor.causes.loop_levels import (
    BETWEEN_TURNS_US,
    Level,
    Pace,
    Visits,
    file_name,
    loop_level,
    pauses,
    place_of,
    turns_of,
    visits_of,
    with_each_round,
    within_lines,
    without_seldom,
)
from tfadvisor.causes.own_calls import own_calls
from tfadvisor.causes.own_lines import (
    brings_on,
    done_in_steps,
    innermost_own,
    outermost_own,
    own_functions,
    own_lines,
    place_of_frame,
)
from tfadvisor.causes.pipeline_python import pipeline_python
from tfadvisor.causes.sampled_stacks import (
    NOBODY,
    WORKS,
    Frame,
    Sampled,
    Stacks,
    frees_long,
    readable,
    sampled_of,
    sleeping,
    stacks_of,
    unrecorded,
)
from tfadvisor.timeline.names.stack_frames import (
    BESIDE_STEPS,
    Work,
)
from tfadvisor.units import PS_PER_MS, PS_PER_S, duration

if TYPE_CHECKING:
    from tfadvisor.arrays import BoolArray, Int64Array
    from tfadvisor.timeline.host import BufferFill
    from tfadvisor.trace.samples import Samples

FEWEST = 100
"""Samples since the first step, without which nothing is said of a run."""
_MOST_PLACES = 3
_MOSTLY = 0.5
"""Of a statement's time that a library's work takes for the statement to be it."""
_NEARLY_ALL = 0.9
_LEAST_FILL, _MOST_FILL = 0.3, 1.5
"""Of a turn, that filling a buffer takes at least to be what happens there, and at most
if the data set has so many elements.
"""
_BEGINNINGS = FIRST_BATCH, FIRST_STEP, LONG_PAUSES
_SOON_US = 200_000
"""So soon after a step begins for the first time it compiles, or goes on to."""
_ONLY_CALLS = tuple(map(WORKS.index, (Work.EPOCH, Work.PREDICTION)))
"""Work of which the lines of the program that ask for it say more."""
_BUILDS = Work.NEW_INPUT, Work.BUILDING, Work.COMPILE
"""Work by which predict makes a pipeline."""
_HARDLY, _MANY_TURNS = 0.1, 10
"""Of the time that compiles, what else may come in between; and how many runs of
samples without compiling are to follow.
"""
_SOME, _FAR_MORE = 0.15, 5
"""Of waits, that follow a request for a batch, and times as many as by chance.
"""
_OF_EPOCHS = Work.INPUT, Work.NEW_INPUT, Work.EPOCH
_NEAR = 3
"""Runs of samples between what begins an epoch and its first batch."""
_WORDS = {
    Work.PROFILING: "profiling",
    Work.COMPILE: "compiling",
    Work.EVALUATION: "evaluation",
    Work.SAVING: "saving",
    Work.LOGGING: "logging",
    Work.INPUT: "waiting for batches",
    Work.NEW_INPUT: FIRST_BATCH,
    Work.EPOCH: "callbacks around epochs",
    Work.PREDICTION: "predict",
    Work.BUILDING: BUILDING,
    Work.GRAPH: BUILDING_A_GRAPH,
    Work.LOADING: "reading files",
    Work.PICTURES: "encoding pictures",
    Work.READING: WAITING,
}
_CALLED_BY_NAME = frozenset({Work.EPOCH, Work.READING, Work.LOADING, Work.PICTURES})
"""Of which a function of the program that does it says more."""
_ON_FILES = Work.LOADING, Work.PICTURES
_COMPILING = Work.COMPILE.value, _WORDS[Work.COMPILE]
_KINDS = {Work.NEW_INPUT: "input", Work.READING: "other"}
_SAYS_LITTLE = frozenset({"other", "input"})
"""Kinds of statements of which it says more where in an epoch they take long."""
_NO_STEPS = BESIDE_STEPS | {Work.COMPILE}
"""Work that is in no ordinary turn."""


OnHost = Callable[[str, int], bool]
"""(name of a file, line) -> whether all that it calls runs on the host."""


class NoAccount(Exception):
    """There is none, and the message says why."""


def account_of(
    samples: Samples,
    step_ms: float = 0.0,
    stepping: frozenset[tuple[str, int]] = frozenset(),
    fill: BufferFill | None = None,
    on_host: OnHost | None = None,
    compiling: float = 0.0,
    *,
    has_pipeline: bool = False,
) -> RunAccount:
    """step_ms: of a step in the recorded window, 0 for unknown. stepping: lines that
    call the step, with the name of their file. fill: of a shuffle in the trace.
    on_host: whether all that a line of the program calls runs on the host; None for
    unknown. compiling: the share of the recorded steps that compile; 0 for unknown.
    has_pipeline: whether the trace holds a pipeline of tf.data.

    Raises NoAccount with the reason.
    """
    if samples.why:
        raise NoAccount(samples.why)
    stacks = stacks_of(samples)
    pace = Pace.of(samples, step_ms, compiling)
    whole = sampled_of(samples)
    whole = replace(whole, is_pause=_pauses(whole, samples, pace))
    began_us = _first_step_us(stacks, whole, pace, samples.loop)
    first_us = began_us or 0
    since = whole.at_us >= first_us
    runs = readable(stacks, unrecorded(stacks, whole.only(since), samples))
    seen = int(runs.seen.sum())
    if seen < FEWEST:
        raise NoAccount(f"only {seen} samples were taken after the first step")
    level = _level(stacks, runs, pace, samples, stepping)
    total = int(runs.us.sum())
    time = _RunTime(stacks, runs, level, pace, total, on_host, has_pipeline)
    steps, apart = time.in_the_level()
    parts = tuple(_filled(part, fill) for part in time.parts(steps, apart))
    ops = steps.only(stacks.op_by_op[steps.stack])
    within = own_functions(stacks, ops, level.depth)
    python = steps.only(stacks.in_python(level.depth)[steps.stack])
    return RunAccount(
        seconds=time.total / 1e6,
        since="first sample" if began_us is None else "first step",
        steps=sum(part.fraction for part in parts if part.kind == STEPS),
        parts=parts,
        samples=seen,
        left_out=(int(whole.us[since].sum()) - time.total) / 1e6,
        before=_before(stacks, whole.only(~since)),
        step_ms=samples.round_ms or None,
        ops_at=own_lines(stacks, ops, int(steps.us.sum())),
        ops_in=next(iter(within), None),
        ops_within=within,
        pipeline=pipeline_python(stacks, samples, first_us),
        python_at=own_lines(stacks, python, int(steps.us.sum())),
        calls=own_calls(stacks, python, steps, level.depth),
        done=done_in_steps(stacks, steps),
    )


def _level(
    stacks: Stacks,
    runs: Sampled,
    pace: Pace,
    samples: Samples,
    stepping: frozenset[tuple[str, int]],
) -> Level:
    """With all that is known of its loop and lines. Raises NoAccount."""
    level = loop_level(stacks, runs, pace, samples.loop)
    if level is None:
        raise NoAccount("no loop of the program was seen to go round")
    if samples.loop is None or place_of(stacks, level) != samples.loop[:2]:
        return with_each_round(stacks, level, stepping)
    level = within_lines(stacks, level, samples.loop[2:], pace)
    file = file_name(samples.loop[0])
    rounds = frozenset((file, line) for line in samples.each_round)
    level = with_each_round(stacks, level, stepping | rounds)
    return without_seldom(stacks, level, rounds - stepping, pace)


def _pauses(
    sampled: Sampled,
    samples: Samples,
    pace: Pace,
) -> BoolArray:
    """Where the system counts a thread's sleep, by that; else by how long it is in one
    stack as a rule.
    """
    if not samples.asleep:
        return pauses(sampled, pace)
    return sleeping(sampled, samples, pace.pause_us)


def _first_step_us(
    stacks: Stacks,
    sampled: Sampled,
    pace: Pace,
    loop: tuple[str, str, int, int] | None,
) -> int | None:
    """When the statement that takes most of the steps is met first without compiling,
    us since the first sample; None where no step is seen.
    """
    before = stacks.imports
    if not pace.compiles:
        before = before | stacks.does(Work.COMPILE)
    ready = readable(stacks, sampled.only(~before[sampled.stack]))
    level = loop_level(stacks, ready, pace, loop) if len(ready) else None
    if level is None or not level.in_steps.any():
        return None
    steps = level.in_steps & ~level.asks
    if not steps.any():
        steps = level.in_steps
    us = np.bincount(level.statement[steps], weights=level.sampled.us[steps])
    is_first = steps & (level.statement == us.argmax())
    first_us = int(level.sampled.at_us[is_first][0])
    if pace.compiles_again:
        return first_us
    return _compiled_us(stacks, sampled, first_us)


def _compiled_us(
    stacks: Stacks,
    sampled: Sampled,
    first_us: int,
) -> int:
    """When what a step calls first is compiled: behind what compiles soon after it,
    unless hardly anything follows that.
    """
    began_us = first_us
    compiles = stacks.does(Work.COMPILE)[sampled.stack]
    ends = (sampled.at_us + sampled.us)[compiles]
    begins = sampled.at_us[compiles]
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if first_us <= begin <= first_us + _SOON_US:
            first_us = end
    is_end = sampled.seen[sampled.at_us >= first_us].sum() < FEWEST
    return began_us if is_end else first_us


class _RunTime(msgspec.Struct, frozen=True):
    """All that is known of the time since the first step."""

    stacks: Stacks
    runs: Sampled
    level: Level
    pace: Pace
    total: int
    """us."""
    on_host: OnHost | None
    has_pipeline: bool
    """Both as of account_of."""

    def parts(
        self,
        steps: Sampled,
        apart: list[RunPart],
    ) -> tuple[RunPart, ...]:
        """steps, apart: of in_the_level."""
        outer = self._outside_of_the_level()
        others = sorted((*apart, *outer), key=lambda part: -part.fraction)
        return (self._steps(steps), *_together(others))

    # Calls that do not lead to the loop.

    def _outside_of_the_level(self) -> list[RunPart]:
        stack, which = np.unique(self.runs.stack, return_inverse=True)
        chain = np.array(self.level.chain)
        same = self.stacks.function[stack, : len(chain)] == chain
        common = np.cumprod(same, axis=1).sum(axis=1)[which]
        found = []
        for depth in sorted(set(common.tolist()) - {len(chain)}):
            mine = self.runs.only(common == depth)
            at = np.full(len(mine), max(depth - 1, 0))
            found += self._by_statement(mine, at)
        return found

    def _by_statement(
        self,
        sampled: Sampled,
        depth: Int64Array,
    ) -> list[RunPart]:
        statement = self.stacks.frame[sampled.stack, depth]
        found = []
        for key in sorted(set(statement.tolist())):
            found += self._parts_of(sampled.only(statement == key), int(depth[0]))
        return found

    def _parts_of(
        self,
        sampled: Sampled,
        depth: int,
        named_by: Sampled | None = None,
    ) -> list[RunPart]:
        """As `part`; what compiles in the first of several turns alone is one of its
        own, since a longer run has no more of it.
        """
        first = self._compiles_first(sampled)
        if not first.any():
            return [self.part(sampled, depth, named_by)]
        compiled = self._made(sampled.only(first), depth, *_COMPILING)
        compiled = replace(compiled, turns=1)
        if named_by is not None:
            named_by = named_by.only(~self._compiles_first(named_by))
        return [compiled, self.part(sampled.only(~first), depth, named_by)]

    def _compiles_first(self, sampled: Sampled) -> BoolArray:
        """Of each run whether it compiles, where nothing does after the first turn."""
        compiles = self.stacks.does(Work.COMPILE)[sampled.stack]
        ends = sampled.at_us + sampled.us
        apart = sampled.at_us[1:] - ends[:-1] > BETWEEN_TURNS_US
        later = np.append(False, np.cumsum(apart) > 0)
        if not len(sampled) or not later.any() or compiles[later].any():
            return falses(sampled)
        return np.asarray(compiles)

    # The function whose turns are the steps.

    def _compiles_in_few_turns(self) -> BoolArray:
        """Of each run whether what the statement calls compiles in its first turns
        alone: hardly anything else comes before the last time, and many turns after it.
        """
        level = self.level
        compiles = self.stacks.does(Work.COMPILE)[level.sampled.stack]
        found = falses(level.sampled)
        called = outermost_own(self.stacks, level.sampled, level.depth)
        calls = level.statement * len(self.stacks.frames) + called
        for key in distinct(calls[compiles]).tolist():
            mine = np.flatnonzero(calls == key)
            does, us = compiles[mine], level.sampled.us[mine]
            last = int(np.flatnonzero(does)[-1])
            is_early = us[:last][~does[:last]].sum() <= _HARDLY * us[does].sum()
            if is_early and len(mine) - last > _MANY_TURNS:
                found[mine[does]] = True
        return found

    def in_the_level(self) -> tuple[Sampled, list[RunPart]]:
        """(what is a step, the parts that are none)."""
        level, depth = self.level, self.level.depth
        sampled = level.sampled
        works = self.works(sampled, depth)
        no_steps = BESIDE_STEPS if self.pace.compiles else _NO_STEPS
        is_work = np.isin(works, [WORKS.index(work) for work in no_steps])
        is_work &= ~level.is_apart
        once = is_work & self._compiles_in_few_turns()
        is_work &= ~once
        apart = level.is_apart | is_work | once
        found = []
        if once.any():
            compiled = self._made(sampled.only(once), depth, *_COMPILING)
            found.append(replace(compiled, turns=1))
        apart &= ~once
        keys = np.where(is_work, -2 - works, level.loop)
        for key in sorted(set(keys[apart].tolist())):
            mine = apart & (keys == key)
            named_by = mine & ((level.statement == key) | is_work)
            found += self._parts_of(sampled.only(mine), depth, sampled.only(named_by))
        apart |= once
        waits = level.sampled.is_pause & ~apart
        news = self.stacks.does(Work.NEW_INPUT)
        for key in sorted(set(level.statement[waits].tolist())):
            mine = level.statement == key
            kind, what = self.name(sampled.only(mine), depth)
            begins = bool(news[sampled.stack[mine]].any())
            pause = sampled.only(mine & waits)
            words = self._pause_words(pause, depth, kind, begins=begins)
            if words == FIRST_STEP:
                kind = Work.INPUT.value  # it follows requests for batches
            if what == WAITING or kind not in _SAYS_LITTLE:
                words = what
            if words is None:
                kind, words = "other", self._unknown_pause()
                waits &= ~mine | self._is_long_pause(sampled, mine & waits, mine)
                pause = sampled.only(mine & waits)  # a slow step is one, too
            if len(pause):
                found.append(self._made(pause, depth, kind, words))
        return sampled.only(~apart & ~waits), found

    def _unknown_pause(self) -> str:
        """Words for one of which nothing tells what happens."""
        asks = self.has_pipeline or self._has_epochs()
        return LONG_PAUSES if asks else LONG_STAYS

    def _is_long_pause(
        self, sampled: Sampled, waits: BoolArray, mine: BoolArray
    ) -> BoolArray:
        """Of each run whether it lasts for many steps. None does where nearly each call
        of a statement waits like that, in a program without a pipeline: turns consist
        of it, and the recorded steps are parts of it. waits, mine: the pauses of the
        statement, and all of it.
        """
        waited, whole = sampled.us[waits].sum(), sampled.us[mine].sum()
        if self._unknown_pause() == LONG_STAYS and waited >= _MOSTLY * whole:
            calls = visits_of(sampled.only(mine), zeros(sampled.us[mine]))
            waiting = np.add.reduceat(waits[mine], calls.first) > 0
            if waiting.mean() >= _MOSTLY:
                return falses(sampled)
        return np.asarray(sampled.us >= self.pace.long_us)

    def _steps(self, sampled: Sampled) -> RunPart:
        depth = self.level.depth
        return replace(
            self._made(sampled, depth, STEPS, STEPS),
            turns=None,
            parts=self.inside(sampled, depth, by_work=False),
            statements=self._statements(sampled, depth),
        )

    def _statements(
        self,
        sampled: Sampled,
        depth: int,
    ) -> tuple[RunPart, ...]:
        """Of the loop whose turns the runs are; where one of them takes nearly all,
        those of the program's function that it calls. Of a library's loop those of the
        program that it calls.
        """
        if not len(sampled):
            return ()
        if self._in_library(sampled, depth):
            return self._called_back(sampled, depth)
        statement = self.stacks.frame[sampled.stack, depth]
        us = np.bincount(statement, weights=sampled.us)
        if us.max() >= _NEARLY_ALL * us.sum():
            inside = self._own_call(sampled.only(statement == us.argmax()), depth)
            if inside is not None:
                return self._statements(*inside)
        return self._by_line(sampled, statement, depth)

    def _in_python(
        self,
        sampled: Sampled,
        depth: int,
    ) -> float:
        """Of the account's time: where nothing below a depth uses a device or waits, a
        call of C by the program's own line included.
        """
        works = self.stacks.in_python(depth)[sampled.stack]
        ends = self.stacks.innermost[sampled.stack]
        for key in distinct(ends[works & self.stacks.is_own[ends]]).tolist():
            frame = self.stacks.frames[key]
            name = file_name(frame.file)
            if self.on_host is None or not self.on_host(name, frame.line):
                works &= ends != key
        return int(sampled.us[works].sum()) / self.total

    def _called_back(
        self,
        sampled: Sampled,
        depth: int,
    ) -> tuple[RunPart, ...]:
        """The program's innermost lines that a library's loop comes to."""
        lines = innermost_own(self.stacks, sampled, depth)
        called = lines != NOBODY
        return self._by_line(sampled.only(called), lines[called], depth)

    def _by_line(
        self,
        sampled: Sampled,
        lines: Int64Array,
        depth: int,
    ) -> tuple[RunPart, ...]:
        """One part for each line, the largest first. lines: of each run, the number of
        its frame.
        """
        found = []
        lines = self.stacks.of_line[lines]
        for key in distinct(lines).tolist():
            mine = sampled.only(lines == key)
            whole = self._made(mine, depth, *self.name(mine, depth))
            place = place_of_frame(self.stacks.frames[key])
            python = self._in_python(mine, depth)
            found.append(replace(whole, turns=None, places=(place,), in_python=python))
        return tuple(sorted(found, key=lambda part: -part.fraction))

    def _own_call(
        self,
        sampled: Sampled,
        depth: int,
    ) -> tuple[Sampled, int] | None:
        """The runs in the one function of the program that nearly all of them call
        below a depth, and its depth; None where there is none.
        """
        stack, which = np.unique(sampled.stack, return_inverse=True)
        own = self.stacks.is_own[self.stacks.frame[stack, depth + 1 :]]
        first = own.argmax(axis=1)
        function = self.stacks.function[stack, depth + 1 + first]
        key = np.where(own.any(axis=1), first * (function.max() + 1) + function, -1)
        first, key = first[which], key[which]
        us = np.bincount(key + 1, weights=sampled.us)
        best = int(us.argmax()) - 1
        if best < 0 or us.max() < _NEARLY_ALL * us.sum():
            return None
        chosen = key == best
        return sampled.only(chosen), depth + 1 + int(first[chosen][0])

    # What a part is.

    def works(
        self,
        sampled: Sampled,
        depth: int,
    ) -> Int64Array:
        """Of each run the number of the library's work below a depth, -1 for none."""
        return self.stacks.work_below(depth)[sampled.stack]

    def part(
        self,
        sampled: Sampled,
        depth: int,
        named_by: Sampled | None = None,
    ) -> RunPart:
        """Of runs that are in one statement of the function at a depth, or in one loop.
        named_by: those of them that name it, None for all.
        """
        naming = sampled if named_by is None else named_by
        kind, what = self.name(naming, depth)
        if kind == "input" and what != FREEING:
            what = self.epoch_words(naming, depth) or what
        whole = self._made(sampled, depth, kind, what)
        return replace(whole, places=self._places_of(naming, depth, kind))

    def _pause_words(
        self,
        sampled: Sampled,
        depth: int,
        kind: str,
        *,
        begins: bool,
    ) -> str | None:
        """What runs are in which the program stays much longer in one call than in
        other turns; None for a step. kind: of the statement. begins: whether it begins
        a pipeline anew.
        """
        if self._frees(sampled):
            return FREEING
        words = self.epoch_words(sampled, depth)
        if kind == "input":
            words = words or (FIRST_BATCH if begins else None)
            return words or "long waits for a batch"
        if not self._has_epochs():
            return None
        begins_epoch = words == FIRST_BATCH or self._follow_asking(sampled)
        return FIRST_STEP if begins_epoch else None

    def _has_epochs(self) -> bool:
        """Whether the program asks a library for batches or frees what it asked, or a
        library's loop has epochs: a step that waits behind a printed line begins none.
        """
        does = [self.stacks.does(work) for work in _OF_EPOCHS]
        is_any = np.logical_or.reduce([*does, self.stacks.in_freeing])
        return bool(self.level.asks.any() or is_any[self.runs.stack].any())

    def _turns_of(self, sampled: Sampled, kind: str) -> int | None:
        """As turns_of; what some of the recorded steps compile did not come once."""
        turns = turns_of(sampled)
        is_again = kind == Work.COMPILE.value and self.pace.compiles_again
        return None if turns == 1 and is_again else turns

    def _made(
        self,
        sampled: Sampled,
        depth: int,
        kind: str,
        what: str,
    ) -> RunPart:
        places = self._places_of(sampled, depth, kind)
        share = self._share(sampled, kind, what, places)
        ops = sampled.only(self.stacks.op_by_op[sampled.stack])
        ops_us = int(ops.us.sum())
        return RunPart(
            share.what,
            share.kind,
            share.fraction,
            share.seconds,
            share.seen,
            share.places,
            self._turns_of(sampled, kind),
            self.inside(sampled, depth),
            ops_us / self.total,
            own_lines(self.stacks, ops, ops_us),
            own_functions(self.stacks, ops, depth),
        )

    def _share(
        self,
        sampled: Sampled,
        kind: str,
        what: str,
        places: tuple[RunPlace, ...],
    ) -> RunShare:
        us = int(sampled.us.sum())
        seen = int(sampled.seen.sum())
        return RunShare(what, kind, us / self.total, us / 1e6, seen, places)

    def name(
        self,
        sampled: Sampled,
        depth: int,
    ) -> tuple[str, str]:
        """(kind, what): what most of it does by a library's functions, else the
        function that the program or a library calls there, else the line.
        """
        if self._frees(sampled):
            return Work.INPUT.value, FREEING
        callee = self.callee(sampled, depth)
        work = self._mostly_works(sampled, depth)
        if work is Work.EPOCH and self._predicts(sampled):
            work = Work.PREDICTION
        if work is not None and not (work in _CALLED_BY_NAME and callee is not None):
            return _KINDS.get(work, work.value), _WORDS[work]
        if work in _ON_FILES:
            return work.value, self._done_by(sampled, work)
        kind = "other" if work is None else _KINDS.get(work, work.value)
        if callee is not None:
            return kind, callee.function or "the program"
        place = next(iter(self.places(sampled, depth)), None)
        return kind, "the rest" if place is None else f"{place.file}:{place.line}"

    def _done_by(self, sampled: Sampled, work: Work) -> str:
        """The program's innermost function that asks a library for it most."""
        functions = [place.function for place in self._brings_on(sampled, work)]
        return next(filter(None, functions), _WORDS[work])

    def _frees(self, sampled: Sampled) -> bool:
        """Whether most of it is a library's function that frees an iterator."""
        us = sampled.us[frees_long(self.stacks, sampled)].sum()
        return bool(us > 0 and us >= _MOSTLY * sampled.us.sum())

    def _predicts(self, sampled: Sampled) -> bool:
        """Whether most of it is Keras' predict."""
        predicts = self.stacks.does(Work.PREDICTION)[sampled.stack]
        return bool(sampled.us[predicts].sum() >= _MOSTLY * sampled.us.sum())

    def _mostly_works(
        self,
        sampled: Sampled,
        depth: int,
    ) -> Work | None:
        """What a library is known to do in most of these runs, of those that are in
        any call.
        """
        works = self.works(sampled, depth)
        known = works >= 0
        if not known.any():
            return None
        by_work = np.bincount(works[known], weights=sampled.us[known])
        best = int(by_work.argmax())
        telling = self.stacks.frame[sampled.stack, depth + 1] != NOBODY
        is_most = by_work[best] >= _MOSTLY * sampled.us[telling].sum()
        return WORKS[best] if is_most else None

    def callee(
        self,
        sampled: Sampled,
        depth: int,
    ) -> Frame | None:
        """The program's own function that most of the time is in, the outermost below
        a depth; None where most is in none.
        """
        callee = outermost_own(self.stacks, sampled, depth)
        own = callee != NOBODY
        if not own.any() or sampled.us[own].sum() < _MOSTLY * sampled.us.sum():
            return None
        us = np.bincount(callee[own], weights=sampled.us[own])
        return self.stacks.frames[int(us.argmax())]

    def epoch_words(
        self,
        sampled: Sampled,
        depth: int,
    ) -> str | None:
        """Where in an epoch the program is in these turns, which ask for batches: at
        its end where most of them lead out of the loop, at its begin where a pipeline
        begins anew or most of them come after something else than a step; None where
        neither is seen.
        """
        level = self.level.sampled
        visits = visits_of(sampled, zeros(sampled))
        long = _are_long(visits)
        firsts = sampled.number[visits.first][long]
        lasts = sampled.number[visits.end - 1][long]
        steps = level.number[self.level.in_steps]
        away = np.setdiff1d(self.runs.number, np.concatenate((steps, sampled.number)))
        new = level.number[self.stacks.does(Work.NEW_INPUT)[level.stack]]
        if _share_near(firsts, np.concatenate((away, new)), -_NEAR) >= _MOSTLY:
            return FIRST_BATCH
        if _share_near(lasts, away, _NEAR) >= _MOSTLY:
            return "end of each epoch"
        return FIRST_BATCH if np.isin(new, sampled.number).any() else None

    def _follow_asking(self, waits: Sampled) -> bool:
        """Whether waits begin soon after the loop asks for a batch, or frees what it
        has asked until now, far more of them than by chance: samples meet what is short
        before some of them only.
        """
        visits = visits_of(waits, zeros(waits))
        begins_us = visits.begins_us[_are_long(visits)]
        level = self.level.sampled
        asks = self.stacks.does(Work.INPUT) | self.stacks.does(Work.NEW_INPUT)
        asks |= self.stacks.in_freeing
        asking = level.only(self.level.asks | asks[level.stack])
        if not len(asking):
            return False
        soon = _NEAR * self.pace.every_us
        ends = np.sort(asking.at_us + asking.us)
        last = ends[np.maximum(np.searchsorted(ends, begins_us, side="right") - 1, 0)]
        after = (begins_us - last >= 0) & (begins_us - last <= soon)
        others = int(level.us.sum() - asking.us.sum())
        by_chance = soon * len(asking) / max(others, 1)
        return bool(after.mean() >= max(_SOME, _FAR_MORE * by_chance))

    def _in_library(self, sampled: Sampled, depth: int) -> bool:
        """Whether the function at a depth is none of the program's."""
        return not self.stacks.is_own[self.stacks.frame[sampled.stack, depth]].any()

    def _places_of(
        self,
        sampled: Sampled,
        depth: int,
        kind: str,
    ) -> tuple[RunPlace, ...]:
        """Of what compiles, and of files, the lines that call it; of all else as
        places.
        """
        for work in (Work.COMPILE, *_ON_FILES):
            if kind == work.value:
                return self._brings_on(sampled, work)[:_MOST_PLACES]
        return self.places(sampled, depth)

    def _brings_on(self, sampled: Sampled, work: Work) -> tuple[RunPlace, ...]:
        does = self.stacks.does(work)[sampled.stack]
        return brings_on(self.stacks, sampled.only(does), work)

    def places(
        self,
        sampled: Sampled,
        depth: int,
    ) -> tuple[RunPlace, ...]:
        """Of the program: the line at this depth; of a library's loop, the line in the
        program's function that it calls, else the innermost own one around it.
        """
        own = self.stacks.is_own
        if self._in_library(sampled, depth):
            callee = self.callee(sampled, depth)
            if callee is not None:
                return (place_of_frame(callee),)
        sampled = sampled.of_stacks()
        upto = self.stacks.frame[sampled.stack][:, depth::-1]
        found = upto[np.arange(len(upto)), own[upto].argmax(axis=1)]
        known = own[found]
        if not known.any():
            return ()
        us = np.bincount(found[known], weights=sampled.us[known])
        order = descending(us)[:_MOST_PLACES]
        least = _HARDLY * us.sum()  # a sample may see the line before the call
        frames = [self.stacks.frames[int(best)] for best in order if us[best] > least]
        return tuple(map(place_of_frame, frames))

    def _further(
        self,
        works: Int64Array,
        sampled: Sampled,
    ) -> Int64Array:
        """Where a library only calls what the program asks for: what that does."""
        does = {
            work: self.stacks.does(work)[sampled.stack]
            for work in (*_BUILDS, Work.PREDICTION)
        }
        builds = np.logical_or.reduce([does[work] for work in _BUILDS])
        further = np.where(does[Work.COMPILE], WORKS.index(Work.COMPILE), -1)
        further[does[Work.PREDICTION]] = -1
        further[does[Work.PREDICTION] & builds] = WORKS.index(Work.BUILDING)
        return np.where(np.isin(works, _ONLY_CALLS), further, works)

    def inside(
        self,
        sampled: Sampled,
        depth: int,
        *,
        by_work: bool = True,
    ) -> tuple[RunShare, ...]:
        """By what a library does there, else by the program's own innermost line."""
        works = self.works(sampled, depth) if by_work else np.full(len(sampled), -1)
        works = self._further(works, sampled)
        lines = self.stacks.of_line[innermost_own(self.stacks, sampled)]
        keys = np.where(works >= 0, -2 - works, lines)
        found = []
        for key in distinct(keys).tolist():
            mine = sampled.only(keys == key)
            if key <= -2:
                work = WORKS[-2 - key]
                kind, words = _KINDS.get(work, work.value), _WORDS[work]
                places = self._places_of(mine, depth, kind)
            else:
                place = place_of_frame(self.stacks.frames[key])
                kind, words = "other", f"{place.file}:{place.line}"
                words = f"{place.function} ({words})" if place.function else words
                places = (place,)
            found.append(self._share(mine, kind, words, places))
        return tuple(_together(found))


def _filled(
    part: RunPart,
    fill: BufferFill | None,
) -> RunPart:
    """With what fills at each turn, where that takes much of one, and no more than one
    and a half.
    """
    turns = part.turns or 1
    if fill is None or part.what not in _BEGINNINGS or turns == 1:
        return part
    of_turn = fill.ps / PS_PER_S / (part.seconds / turns)
    if not _LEAST_FILL <= of_turn <= _MOST_FILL:
        return part
    words = (
        f"a shuffle buffer of {fill.elements:,} elements, for which {fill.stage} takes "
        f"{duration(fill.ps / PS_PER_MS)}"
    )
    return replace(part, fills=words)


def _are_long(visits: Visits) -> BoolArray:
    """Of each, as turns of which some are cut into pieces."""
    return np.asarray(visits.us >= visits.us.max() / 4)


def _share_near(numbers: Int64Array, others: Int64Array, reach: int) -> float:
    """Of numbers, how many have one of the others within so many behind them, or before
    them.
    """
    step = 1 if reach > 0 else -1
    near = np.add.outer(numbers, np.arange(0, reach + step, step))
    return float(np.isin(near, others).any(axis=1).mean()) if len(near) else 0.0


_AnyShare = TypeVar("_AnyShare", bound=RunShare)


def _together(parts: Iterable[_AnyShare]) -> list[_AnyShare]:
    """Parts of one name as one, the largest first; what came once apart."""
    found: dict[tuple[str, str, bool], _AnyShare] = {}
    for part in parts:
        key = part.kind, part.what, isinstance(part, RunPart) and part.turns == 1
        found[key] = _sum(found[key], part) if key in found else part
    return sorted(found.values(), key=lambda part: -part.fraction)


def _sum(
    part: _AnyShare,
    other: _AnyShare,
) -> _AnyShare:
    """Of parts that are part: turns of several statements are those of the part that
    comes most often.
    """
    turns: dict[str, Any] = {}
    if isinstance(part, RunPart) and isinstance(other, RunPart):
        turns["turns"] = max(part.turns or 0, other.turns or 0) or None
        turns["parts"] = tuple(_together((*part.parts, *other.parts)))
        turns["op_by_op"] = part.op_by_op + other.op_by_op
        if part.ops_within != other.ops_within and other.op_by_op:
            turns["ops_within"] = ()
    return replace(
        part,
        fraction=part.fraction + other.fraction,
        seconds=part.seconds + other.seconds,
        seen=part.seen + other.seen,
        places=tuple(dict.fromkeys((*part.places, *other.places)))[:_MOST_PLACES],
        **turns,
    )


def _before(
    stacks: Stacks,
    sampled: Sampled,
) -> BeforeSteps:
    """Imports, compiling, and all else."""
    total = int(sampled.us.sum())
    if not total:
        return BeforeSteps(0.0, ())
    names = np.where(stacks.does(Work.COMPILE), "compiling", "other")
    names = np.where(stacks.imports, "imports", names)[sampled.stack]
    parts = []
    for name in map(str, np.unique(names)):
        mine = sampled.only(names == name)
        us, seen = int(mine.us.sum()), int(mine.seen.sum())
        parts.append(RunShare(name, name, us / total, us / 1e6, seen))
    return BeforeSteps(
        total / 1e6, tuple(sorted(parts, key=lambda part: -part.seconds))
    )
