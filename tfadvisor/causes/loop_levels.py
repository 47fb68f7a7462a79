"""Where in a program's calls its training loop goes round, and which of its statements
belong to every turn: by how samples follow each other.

A statement of every turn is met at random among the others of the turn. One that runs
now and then is met many times in a row, then not for many turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.arrays import BoolArray, Int64Array, distinct, falses, median
from tfadvisor.causes.sampled_stacks import NOBODY, WORKS, Sampled, Stacks, frees_long
from tfadvisor.timeline.names.stack_frames import (
    BESIDE_STEPS,
    Work,
    loops_over_steps,
)

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from tfadvisor.arrays import BoolArray, Int64Array
    from tfadvisor.trace.samples import Samples

_MOST_STEPS, _SOME_STEPS = 0.5, 0.2
"""Of the recorded steps, that compile."""
_IN_A_ROW = 2.0
"""Times as many samples in a row as chance makes of a statement's share."""
_TURNS_APART, _SAMPLES_APART = 1.5, 4
"""Steps and samples that pass at least between two turns of what is not in every step.
"""
_NEXT_SAMPLES, _LAGS = 16, (0.5, 4.0)
"""Samples behind each that tell when a statement comes again, by times that so many
samples take.
"""
_HARDLY, _EXPECTED = 0.25, 20
"""Of what chance makes, and how many that must be, for a lag at which it never comes.
"""
_SHORT_STEPS = 2
"""Between two samples, where a part of each step is met by chance."""
_PAUSE_STEPS, _PAUSE_SAMPLES = 3, 5
"""That a wait takes at least which is no part of an ordinary step."""
_LONG_STEPS, _LONG_SAMPLES = 50, 20
"""That a wait takes which is none of a slow step either."""
_PATIENCE = 5.0
"""exp(-5): how seldom chance alone makes a longer run of one stack."""
_MIXES = 0.01
"""Of a level's time: what a loop's turns hold beside their costliest statement."""
_TOGETHER = 0.2
"""Of a statement's visits, that come from another or lead to it, in one loop."""
_FEWEST_CHANGES = 8
_WORTH_BELIEVING = 0.25
"""Of the level's time, that the lines of a loop must hold to be that of the steps."""
_FEWEST_ANSWERED = 0.2
"""Of samples, that tell anything."""
_WORTH_A_LOOK = 0.03
"""Of a level's time in a call: where the loop may be."""
_ASKING = (WORKS.index(Work.INPUT), WORKS.index(Work.NEW_INPUT))
_LITTLE = 0.1
BETWEEN_TURNS_US = 50_000
"""So short a time elsewhere does not end a turn."""
_MANY_GAPS, _OF_GAPS = 10, 0.1
"""Such times, and what they take beside the turns, from where on each may be one."""
_COMPILES = WORKS.index(Work.COMPILE)
_BESIDE = tuple(map(WORKS.index, BESIDE_STEPS))
_NEVER = 1 << 62
_LOWER_QUARTER = 0.288
"""-ln(3/4): the lower quartile over the mean of lengths that chance makes."""


class Pace(msgspec.Struct, frozen=True):
    """How long a step takes, and what lies between two samples. In us."""

    step_us: int
    """0 for unknown."""
    every_us: int
    """A mean, where many could not be read."""
    compiling: float = 0.0
    """Of the recorded steps, that compile; 0 for unknown."""

    @classmethod
    def of(
        cls,
        samples: Samples,
        step_ms: float,
        compiling: float = 0.0,
    ) -> Pace:
        """step_ms: of a step in the recorded window, 0 for unknown. compiling: as the
        field.
        """
        step_us = int(max(step_ms, samples.round_ms) * 1000)
        every_us = max(samples.every_ns // 1000, 1)
        ticks = max((samples.ended_ns - samples.began_ns) // samples.every_ns, 1)
        processes = {process for _, _, process in samples.threads}
        asked = ticks * max(len(processes), 1)
        answered = max(1 - samples.errors / asked, _FEWEST_ANSWERED)
        return cls(step_us, int(every_us / answered), compiling)

    @property
    def compiles(self) -> bool:
        """Whether an ordinary step compiles: what does is a part of it then."""
        return self.compiling >= _MOST_STEPS

    @property
    def compiles_again(self) -> bool:
        """Whether what compiles in the recorded steps did not come once."""
        return self.compiling >= _SOME_STEPS

    @property
    def apart_us(self) -> float:
        """Between two turns of what is not in every step."""
        return _TURNS_APART * self.step_us + _SAMPLES_APART * self.every_us

    @property
    def pause_us(self) -> int:
        """No ordinary step waits for so long at once."""
        return _PAUSE_STEPS * self.step_us + _PAUSE_SAMPLES * self.every_us

    @property
    def long_us(self) -> int:
        """No slow step waits for so long at once."""
        return max(_LONG_STEPS * self.step_us, _LONG_SAMPLES * self.every_us)


class Visits(msgspec.Struct, frozen=True):
    """Runs of one key after another without a pause. Shapes (visits,)."""

    first: Int64Array
    """The row that each begins with."""
    end: Int64Array
    """The row behind its last one."""
    key: Int64Array
    us: Int64Array
    seen: Int64Array
    begins_us: Int64Array


def visits_of(
    sampled: Sampled,
    key: Int64Array,
) -> Visits:
    """key: of each run of samples."""
    if not len(key):
        nothing = np.zeros(0, np.int64)
        return Visits(nothing, nothing, nothing, nothing, nothing, nothing)
    follows = (np.diff(key) == 0) & (np.diff(sampled.number) == 1)
    first = np.flatnonzero(np.concatenate(([True], ~follows)))
    end = np.append(first[1:], len(key))
    return Visits(
        first,
        end,
        key[first],
        np.add.reduceat(sampled.us, first),
        np.add.reduceat(sampled.seen, first),
        sampled.at_us[first],
    )


class Level(msgspec.Struct, frozen=True):
    """One function, reached by one chain of calls, and what it is in at each run of
    samples. Shapes (runs,).
    """

    depth: int
    """Frames outside of it."""
    chain: tuple[int, ...]
    """Numbers of the functions from the outermost to it."""
    sampled: Sampled
    statement: Int64Array
    """Number of its frame: the line that is under way."""
    is_apart: BoolArray
    """Whether the statement is not in every turn."""
    asks: BoolArray
    """Whether the statement asks for a batch."""
    is_beside: BoolArray
    """Whether a library does there what no step of training does."""
    loop: Int64Array
    """The statement that it is named by: of a loop beside the steps, as over batches of
    another data set, the one that takes most; else its own.
    """

    @property
    def in_steps(self) -> BoolArray:
        """Whether the run is in an ordinary turn."""
        return ~self.is_apart & ~self.is_beside & ~self.sampled.is_pause

    def mixes(self) -> bool:
        """Whether statements of its turns follow each other again and again."""
        steps = self.in_steps
        us = self.sampled.us[steps]
        if not len(us) or us.sum() < _MIXES * self.sampled.us.sum():
            return False
        by_statement = np.bincount(self.statement[steps], weights=us)
        changes = int((np.diff(self.statement[steps]) != 0).sum())
        mixed = 1 - float(by_statement.max() / us.sum())
        return mixed >= _MIXES and changes >= _FEWEST_CHANGES


def level_of(
    stacks: Stacks,
    sampled: Sampled,
    depth: int,
    pace: Pace,
) -> Level:
    """sampled: the runs that are in the function at this depth, by one chain of
    calls.
    """
    statement = stacks.frame[sampled.stack, depth]
    first = int(sampled.stack[0])
    works = stacks.work_below(depth)[sampled.stack]
    calls = stacks.frame[sampled.stack, depth + 1] != NOBODY
    asks = np.isin(works, _ASKING)
    asking = [
        key
        for key in distinct(statement[asks]).tolist()
        if 2 * asks[(statement == key) & calls].mean() >= 1
    ]
    waits = _long_waits(sampled, statement, asking, pace)
    sampled = replace(sampled, is_pause=sampled.is_pause | waits)
    others_work = _BESIDE if pace.compiles else (_COMPILES, *_BESIDE)
    runs = ~np.isin(works, others_work)  # what may be on the step's line
    frees = frees_long(stacks, sampled) & runs
    runs &= ~frees
    loop = statement.copy()
    loop[runs] = _loops(sampled.only(runs), statement[runs], asking, pace)
    others = np.isin(loop, loop[loop != statement])
    runs &= ~np.isin(statement, asking) & ~others
    apart = _now_and_then(sampled.us[runs], statement[runs], pace)
    runs &= ~np.isin(statement, apart)
    apart += _apart(sampled.only(runs), statement[runs], works[runs], pace)
    return Level(
        depth,
        tuple(stacks.function[first, : depth + 1].tolist()),
        sampled,
        statement,
        np.isin(statement, sorted(apart)) | others | frees,
        np.isin(statement, asking),
        np.isin(works, _BESIDE),
        loop,
    )


def _loops(
    sampled: Sampled,
    statement: Int64Array,
    asking: list[int],
    pace: Pace,
) -> Int64Array:
    """Of each run the statement that names it. Loops beside that of the steps turn for
    a while, then not for many steps: all of such a loop has one name.
    """
    if not len(sampled):
        return statement
    turning = _turning_together(sampled, statement)
    visits = visits_of(sampled, turning)
    us_of = np.bincount(turning, weights=sampled.us)
    rest = float(us_of.sum())
    steps = int(us_of.argmax())
    named = statement.copy()
    for key in distinct(turning[turning != statement]).tolist():
        mine = visits.key == key
        by_chance = 1 / max(1 - us_of[key] / rest, 1e-9)
        is_long = float(visits.us[mine].mean()) >= _IN_A_ROW * by_chance * pace.every_us
        if key == steps or not is_long or _is_often(visits, mine, pace):
            continue
        inside = turning == key
        does = inside & ~np.isin(statement, asking)
        us = np.bincount(statement[does], weights=sampled.us[does])
        named[inside] = int(us.argmax()) if len(us) else key
    return named


def _turning_together(
    sampled: Sampled,
    statement: Int64Array,
) -> Int64Array:
    """Of each run the smallest statement of those that follow each other again and
    again with its own, as those of one loop do.
    """
    visits = visits_of(sampled, statement)
    follows = (
        sampled.number[visits.first[1:]] - sampled.number[visits.end[:-1] - 1] == 1
    )
    here, there = visits.key[:-1][follows], visits.key[1:][follows]
    number = np.bincount(visits.key)
    together = np.arange(len(number))
    pairs = np.sort(np.minimum(here, there) * len(number) + np.maximum(here, there))
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    changes = np.diff(first, append=len(pairs))
    for pair, count in zip(pairs[first].tolist(), changes.tolist(), strict=True):
        key, other = divmod(pair, len(number))
        often = count >= _TOGETHER * max(number[key], number[other])
        if often and count >= _FEWEST_CHANGES:
            together[together == together[other]] = together[key]
    return np.asarray(together[statement])


def _is_often(
    visits: Visits,
    mine: BoolArray,
    pace: Pace,
) -> bool:
    """Whether few steps pass from one of these visits to the next."""
    ends = visits.begins_us[mine] + visits.us[mine]
    gaps = visits.begins_us[mine][1:] - ends[:-1]
    gap = float(median(gaps)) if len(gaps) else float(_NEVER)
    return gap <= pace.apart_us


def _apart(
    sampled: Sampled,
    statement: Int64Array,
    works: Int64Array,
    pace: Pace,
) -> list[int]:
    """Statements that are not in every turn. Those in which a library is known to do
    something else than a step are judged first, the one that takes most time last, each
    by its share of what is left.
    """
    if not len(sampled):
        return []
    visits = visits_of(sampled, statement)
    has_pause = np.add.reduceat(sampled.is_pause, visits.first) > 0
    us_of = np.bincount(statement, weights=sampled.us)
    known = np.bincount(statement[works >= 0], minlength=len(us_of)) > 0
    apart: list[int] = []
    rest = float(us_of.sum())
    for key in sorted(
        distinct(statement).tolist(), key=lambda key: (not known[key], us_of[key])
    ):
        mine = visits.key == key
        us = visits.us[mine & ~has_pause]
        if us.sum() < visits.us[mine].sum() / 5:
            us = visits.us[mine]  # hardly anything but pauses
        by_chance = 1 / max(1 - us_of[key] / rest, 1e-9)
        is_long = float(us.mean()) >= _IN_A_ROW * by_chance * pace.every_us
        if is_long and not _is_often(visits, mine, pace):
            apart.append(key)
            rest -= us_of[key]
    if apart and apart[-1] == key and rest < _LITTLE * us_of[key]:
        apart.pop()  # nothing else is the step
    return apart


def _now_and_then(
    us: Int64Array,
    statement: Int64Array,
    pace: Pace,
) -> list[int]:
    """Statements that come once in so many short steps that samples miss them for a
    while, though hardly longer than a few samples: those without which all others are
    met at random. us: what each run takes, one after the other. Shapes (runs,).
    """
    found: list[int] = []
    if not 0 < pace.step_us * _SHORT_STEPS <= pace.every_us:
        return found
    while missed := _missed(us, statement, pace):
        us_of = {key: int(us[statement == key].sum()) for key in missed}
        left_of = {}
        for key in missed:
            others = statement != key
            left_of[key] = len(_missed(us[others], statement[others], pace))
        best = min(missed, key=lambda key: (left_of[key], us_of[key]))
        if left_of[best] >= len(missed):
            break
        found.append(best)
        us, statement = us[statement != best], statement[statement != best]
    return found


def _missed(
    us: Int64Array,
    statement: Int64Array,
    pace: Pace,
) -> list[int]:
    """Statements that are never met a while after they were met."""
    keys = distinct(statement).tolist()
    if len(keys) < 2:
        return []
    at_us = np.cumsum(us) - us
    return [key for key in keys if _never_soon(at_us, statement == key, pace)]


def _never_soon(
    at_us: Int64Array,
    is_met: BoolArray,
    pace: Pace,
) -> bool:
    """Whether there is a time after which a statement is hardly ever met again: a part
    of each short step is met as often after any time. at_us: when each run begins.
    """
    met = np.flatnonzero(is_met)
    lags, hits = [], []
    for further in range(1, _NEXT_SAMPLES + 1):
        first = met[met + further < len(at_us)]
        lags.append(at_us[first + further] - at_us[first])
        hits.append(is_met[first + further])
    lag, hit = np.concatenate(lags), np.concatenate(hits)
    by_chance = float(is_met.mean())
    return any(
        _is_missed(lag // int(width * pace.every_us), hit, by_chance) for width in _LAGS
    )


def _is_missed(
    lag: Int64Array,
    hit: BoolArray,
    by_chance: float,
) -> bool:
    expected = np.bincount(lag) * by_chance
    found = np.bincount(lag, weights=hit)
    is_known = expected >= _EXPECTED
    return bool((found[is_known] <= _HARDLY * expected[is_known]).any())


def _long_waits(
    sampled: Sampled,
    statement: Int64Array,
    asking: list[int],
    pace: Pace,
) -> BoolArray:
    """Of each run whether it is in a statement that asks for batches, and stays in it
    for longer than it does as a rule.
    """
    visits = visits_of(sampled, statement)
    long = np.isin(visits.key, asking)
    long &= _unusual(visits.key, visits.us, pace, rarely=0)
    return np.repeat(long, visits.end - visits.first)


def pauses(
    sampled: Sampled,
    pace: Pace,
) -> BoolArray:
    """Of each run whether the thread is in one stack for longer than it is as a
    rule.
    """
    return _unusual(sampled.stack, sampled.us, pace)


def _unusual(
    key: Int64Array,
    us: Int64Array,
    pace: Pace,
    rarely: int = _NEVER,
) -> BoolArray:
    """Lengths that are greater than those that chance makes where turns pass: how long
    most of a key are tells how often samples meet anything else. rarely: the limit of
    keys that come too rarely to tell.
    """
    order = np.lexsort((us, key))
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    number = np.diff(first, append=len(key))
    usual = us[order][first + number // 4] / _LOWER_QUARTER
    limit = usual * (np.log(number) + _PATIENCE)
    limit[number < _FEWEST_CHANGES] = rarely
    found = falses(key)
    found[order] = us[order] > np.maximum(np.repeat(limit, number), pace.pause_us)
    return found


# Where the loop is.

_COMPREHENSIONS = frozenset({"<dictcomp>", "<genexpr>", "<listcomp>", "<setcomp>"})


def loop_level(
    stacks: Stacks,
    sampled: Sampled,
    pace: Pace,
    loop: tuple[str, str, int, int] | None,
) -> Level | None:
    """The function whose turns are the steps. loop: its file, its function, and between
    which lines it stands, where they are known. None where nothing goes round.
    """
    levels = list(_levels(stacks, sampled, pace))
    by_place = [level for level in levels if _is_at(stacks, level, loop)]
    training = [level for level in levels if loops_over_steps(*place_of(stacks, level))]
    half = sampled.us.sum() / 2
    main = [level for level in levels if level.sampled.us.sum() >= half]
    own = [level for level in main if _is_own(stacks, level)]
    apart = [level for level in own if level.is_apart.any()]
    by_need = (by_place, training, _mixing(levels), apart[-1:], own[-1:], main[:1])
    for candidates in filter(None, by_need):
        return max(candidates, key=_in_steps)
    return None


def within_lines(
    stacks: Stacks,
    level: Level,
    lines: tuple[int, int],
    pace: Pace,
) -> Level:
    """The same, where it is known between which lines the loop of the steps stands:
    what the function does elsewhere is no step. All as it was where little of the time
    is between them.
    """
    line_of = np.array([*(frame.line for frame in stacks.frames), 0])
    line = line_of[level.statement]
    inside = (line >= lines[0]) & (line <= lines[1])
    us = level.sampled.us
    if inside.all() or us[inside].sum() < _WORTH_BELIEVING * us.sum():
        return level
    turns = level_of(stacks, level.sampled.only(inside), level.depth, pace)

    def joined(
        outside: NDArray[Any],
        found: NDArray[Any],
    ) -> NDArray[Any]:
        both = outside.copy()
        both[inside] = found
        return both

    pause = joined(level.sampled.is_pause, turns.sampled.is_pause)
    return replace(
        level,
        sampled=replace(level.sampled, is_pause=pause),
        is_apart=joined(~inside, turns.is_apart),
        asks=joined(level.asks, turns.asks),
        is_beside=joined(level.is_beside, turns.is_beside),
        loop=joined(level.loop, turns.loop),
    )


def with_each_round(
    stacks: Stacks,
    level: Level,
    places: frozenset[tuple[str, int]],
) -> Level:
    """The same, where (file, line) are known that come in each round: a call of C
    there, or of an op, is of each round however long it waits at times, and so is what
    samples meet again and again. What else Python does in one may still come now and
    then.
    """
    is_known = stacks.of_frames(
        (file_name(frame.file), frame.line) in places for frame in stacks.frames
    )
    counted = is_known[level.statement] > 0
    stack = level.sampled.stack
    in_c = stacks.frame[stack, level.depth + 1] == NOBODY
    dispatches = in_c | stacks.op_by_op[stack]
    us = level.sampled.us
    apart = level.is_apart.copy()
    for key in distinct(level.statement[counted & apart]).tolist():
        mine = level.statement == key
        is_mostly_c = 2 * us[mine & dispatches].sum() >= us[mine].sum()
        if is_mostly_c or turns_of(level.sampled.only(mine)) is None:
            apart &= ~mine
    return replace(level, is_apart=apart)


def without_seldom(
    stacks: Stacks,
    level: Level,
    rounds: frozenset[tuple[str, int]],
    pace: Pace,
) -> Level:
    """The same, where (file, line) are known that come in each round: what takes far
    more than all of these may still be no step, if it is on no such line and stays for
    as long as no part of each round does.
    """
    in_rounds = stacks.of_frames(
        (file_name(frame.file), frame.line) in rounds for frame in stacks.frames
    )
    known, steps = in_rounds[level.statement] > 0, level.in_steps
    if not (known & steps).any():
        return level
    visits = visits_of(level.sampled, level.statement)
    us = level.sampled.us
    apart = level.is_apart.copy()
    for key in distinct(level.statement[steps & ~known]).tolist():
        mine, within = visits.key == key, steps & (level.statement == key)
        if 2 * us[within].sum() < us[steps].sum():
            continue  # it was judged beside the others
        by_chance = us[steps].sum() / max(us[steps & ~within].sum(), 1)
        is_long = visits.us[mine].mean() >= _IN_A_ROW * by_chance * pace.every_us
        if is_long and not _is_often(visits, mine, pace):
            apart |= within
    return replace(level, is_apart=apart)


def turns_of(sampled: Sampled) -> int | None:
    """How often something came, by runs of samples; None where the program is
    elsewhere again and again for too short a time to tell, as between fast steps that
    each save.
    """
    ends = sampled.at_us + sampled.us
    gaps = sampled.at_us[1:] - ends[:-1]
    short = gaps[(gaps > 0) & (gaps <= BETWEEN_TURNS_US)]
    if len(short) >= _MANY_GAPS and short.sum() > _OF_GAPS * sampled.us.sum():
        return None
    return int((gaps > BETWEEN_TURNS_US).sum()) + 1


def file_name(path: str) -> str:
    """Without its folder."""
    return PurePath(path.replace("\\", "/")).name


def _mixing(levels: list[Level]) -> list[Level]:
    """Of each chain of calls the outermost function whose statements follow each other
    again and again.
    """
    mixing = [level for level in levels if level.mixes()]
    return [level for level in mixing if not _is_inside(level, mixing)]


def _in_steps(level: Level) -> int:
    """us."""
    return int(level.sampled.us[level.in_steps].sum())


def _is_inside(
    inner: Level,
    others: list[Level],
) -> bool:
    """Whether any of them calls it, perhaps by others."""
    chains = (outer.chain for outer in others if len(outer.chain) < len(inner.chain))
    return any(inner.chain[: len(chain)] == chain for chain in chains)


def place_of(
    stacks: Stacks,
    level: Level,
) -> tuple[str, str]:
    """The file and the function."""
    frame = stacks.frames[int(level.statement[0])]
    return frame.file, frame.function


def _is_at(
    stacks: Stacks, level: Level, loop: tuple[str, str, int, int] | None
) -> bool:
    """Whether a level is the loop's function; of several without a name, as list
    comprehensions of one file are before Python 3.12, the one on its lines.
    """
    if loop is None:
        return False
    file, function, first, last = loop
    if function not in _COMPREHENSIONS:
        return place_of(stacks, level) == (file, function)
    lines = [stacks.frames[key].line for key in distinct(level.statement).tolist()]
    is_there = all(first <= line <= last for line in lines)
    return level.depth > 0 and place_of(stacks, level) == (file, "") and is_there


def _is_own(
    stacks: Stacks,
    level: Level,
) -> bool:
    return stacks.frames[int(level.statement[0])].is_own


def _levels(
    stacks: Stacks,
    sampled: Sampled,
    pace: Pace,
) -> Iterator[Level]:
    """Functions that take much of the time, by each chain of calls."""
    total = int(sampled.us.sum())
    todo = [(sampled, 0)]
    while todo:
        some, depth = todo.pop()
        callee = stacks.function[some.stack, depth]
        for function in distinct(callee).tolist():
            mine = some.only(callee == function)
            if function == NOBODY or mine.us.sum() < _WORTH_A_LOOK * total:
                continue
            yield level_of(stacks, mine, depth, pace)
            todo.append((mine, depth + 1))
