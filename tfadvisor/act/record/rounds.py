"""The loop that a program's main thread is in: from its stacks, and from Python 3.12 on
counted by Python itself, while nothing is recorded.
"""

from __future__ import annotations

import ast
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from tfadvisor.act.record.answers import GivenOrder, answers_to
from tfadvisor.act.record.board import Board, Process
from tfadvisor.act.record.watch import SeenStacks, Watch
from tfadvisor.arrays import BoolArray, Int64Array
from tfadvisor.files import read_small_text
from tfadvisor.timeline.names.stack_frames import (
    BESIDE_STEPS,
    loops_over_steps,
    work_of,
)
from tfadvisor.trace.samples import Frame, Samples, is_own_file

_PATIENCE_SECONDS = 3.0
_OF_COUNTING = 1 / 6
"""So long the program is looked at, at least: half a second at first."""
_FEWEST_SAMPLES = 20
_FEWEST_RETURNS = 3
"""To a line, of what goes round."""
_TIMED_SECONDS = 20.0
"""Of the samples that lie behind, those that tell how long a round takes."""
_FEWEST_ROUNDS, _FEWEST_BY_CHANCE = 4, 12
_SURELY_MET = 2
"""Samples elsewhere in a round: what is met by one may be met by chance, and needs more
rounds to be seen as regular.
"""
_LEAST_SAMPLES = 4
"""Between two samples nobody sees what is shorter."""
_LONG_STAY = 8
"""Samples in a row at one line. Where a line takes half of each round, chance makes
such a run once in 256."""
_FEWEST_LONG = 8
"""Rounds that are made of such stays."""
_REGULAR = 0.7
"""The lower quarter over the median of rounds; of returns that chance makes between
samples it is 0.42.
"""
_FEWEST_BATCHES = 8
"""Of an epoch. A step has fewer parts: batches of which it adds up the gradients, or
updates of a critic, of which Wasserstein's has five.
"""
_MOST_SOURCE_BYTES = 1 << 20
_COMPILERS = (
    "jax/_src/compiler.py",
    "jax/_src/interpreters/partial_eval.py",
    "tensorflow/python/framework/func_graph.py",
)
_LATELY_SECONDS, _MOSTLY = 0.5, 0.8


class ProgramLoop(msgspec.Struct, frozen=True):
    """A loop of a process's main thread."""

    file: str
    line: int
    """In the loop, or where the program calls the library that loops."""
    function: str
    within: str
    """The library's function that loops, "" where the program does itself."""
    prepares: bool
    """It adapts a layer to the data, as Keras does before training."""
    median_ms: float = 0.0
    """Of a round, where Python counted them, or samples tell it; 0 for unknown."""
    lines: tuple[int, int] = (0, 0)
    """The first and the last, of the function that loops."""
    looping: str = ""
    """The file of that function."""
    each: tuple[int, ...] = ()
    """Lines that come in each round, where Python counted them."""

    def is_of(self, other: ProgramLoop) -> bool:
        """Whether both are turns of the same loop."""
        mine = self.file, self.function, self.within
        others = other.file, other.function, other.within
        (first, last), (other_first, other_last) = self.lines, other.lines
        return mine == others and first <= other_last and other_first <= last

    @property
    def place(self) -> str:
        """For people."""
        called = f", in {self.within}()" if self.within else ""
        return f"{Path(self.file).name}:{self.line}{called}"

    @property
    def in_samples(self) -> tuple[str, str, int, int]:
        """As it stands in `HOST.samples.json`."""
        return self.looping or self.file, self.within or self.function, *self.lines


class CountedRounds(msgspec.Struct, frozen=True):
    """What looking at the loop has shown."""

    loop: ProgramLoop | None
    """Of the first process that is in one."""
    inside: str = ""
    """The line of a call in which the first process was all the time, "" for none."""


def count_rounds(
    board: Board,
    processes: Sequence[Process],
    seconds: float,
    over: Callable[[], bool],
    watch: Watch,
) -> CountedRounds:
    """The loop of these processes while nothing is recorded. seconds: at most. over:
    whether the program is.
    """
    began_ns = time.time_ns()
    least = _OF_COUNTING * seconds
    number = str(board.order(processes, seconds, only_rounds=True, least_seconds=least))
    asked = frozenset(peer.name for peer in processes)
    order = GivenOrder(number, asked, seconds)
    answered = answers_to(
        order,
        board,
        over,
        _PATIENCE_SECONDS,
    )
    seen = watch.seen()
    counted = [
        (process.pid, process.windows.get(number, {}).get("loop"))
        for process in answered or processes
    ]
    return _found(seen, counted, began_ns)


def rounds_seen(watch: Watch, processes: Sequence[Process]) -> CountedRounds:
    """The loop of these processes by all that was seen of them, as of a program that
    has ended.
    """
    return _found(watch.seen(), [(process.pid, None) for process in processes], 0)


def _found(
    seen: SeenStacks,
    counted: Sequence[tuple[int, dict[str, Any] | None]],
    began_ns: int,
) -> CountedRounds:
    """counted: of each process what Python counted, as of loop_of."""
    for pid, rounds in counted:
        samples = msgspec.convert(seen.of_process(pid), Samples)
        found = loop_of(stacks_since(samples, began_ns), rounds)
        if found.loop is not None:
            return replace(found, loop=timed(found.loop, rounds, samples))
        if found.inside:
            return found
    return CountedRounds(None)


def is_compiling(watch: Watch, processes: Sequence[Process]) -> bool:
    """Whether the main thread of any was in a compiler for the last half second."""
    began_ns = time.time_ns() - int(_LATELY_SECONDS * 1e9)
    return _mostly(_compiles, _stacks_of(watch.seen(), processes, began_ns))


def is_beside_steps(
    watch: Watch, processes: Sequence[Process], window: tuple[float, float] | None
) -> bool:
    """Whether the main thread of any was in a library's training loop, and evaluated,
    saved or did what the end of an epoch asks for instead of steps.

    window: of which time, seconds since the epoch; None for the last half second before
    the watch was asked last.
    """
    opened, closed = window or (time.time() - _LATELY_SECONDS, time.time())
    seen = watch.known()
    stacks = _stacks_of(seen, processes, int(opened * 1e9), int(closed * 1e9))
    return _mostly(_is_no_step, stacks)


def _stacks_of(
    seen: SeenStacks,
    processes: Sequence[Process],
    began_ns: int,
    ended_ns: int | None = None,
) -> list[list[Stack]]:
    """Of each process."""
    samples = [
        msgspec.convert(seen.of_process(process.pid), Samples) for process in processes
    ]
    return [stacks_since(of_one, began_ns, ended_ns) for of_one in samples]


def _mostly(is_it: Callable[[Stack], bool], stacks: list[list[Stack]]) -> bool:
    shares = [sum(map(is_it, of_one)) / max(len(of_one), 1) for of_one in stacks]
    return max(shares, default=0.0) > _MOSTLY


Stack = tuple[Frame, ...]


def _compiles(stack: Stack) -> bool:
    return any(file.endswith(_COMPILERS) for file, _, _ in stack)


def _is_no_step(stack: Stack) -> bool:
    """Within a library's training loop: a program may do nothing but evaluate."""
    trains = any(loops_over_steps(file, function) for file, function, _ in stack)
    works = (work_of(file, function) for file, function, _ in stack)
    return trains and any(work in BESIDE_STEPS for work in works)


def stacks_since(
    samples: Samples, began_ns: int, ended_ns: int | None = None
) -> list[Stack]:
    """Of the main thread, one for each sample. ended_ns: None for up to now."""
    at, numbers = samples.ticks()
    stacks = [
        tuple(samples.frames[number] for number in stack) for stack in samples.stacks
    ]
    wanted = at >= began_ns
    if ended_ns is not None:
        wanted &= at <= ended_ns
    return [stacks[number] for number in numbers[wanted].tolist() if stacks[number]]


# How long a round takes.


def quickest_rounds(rounds: Sequence[ProgramLoop | None]) -> ProgramLoop | None:
    """Of the loop that was counted first: by the count that was disturbed least."""
    first = next(filter(None, rounds), None)
    counted = timed_rounds(rounds)
    return min(counted, key=lambda loop: loop.median_ms, default=first)


def timed_rounds(rounds: Sequence[ProgramLoop | None]) -> list[ProgramLoop]:
    """Each count of the loop that was counted first which tells how long a round is."""
    there = [loop for loop in rounds if loop is not None]
    return [loop for loop in there if loop.is_of(there[0]) and loop.median_ms]


def timed(
    loop: ProgramLoop, counted: dict[str, Any] | None, samples: Samples
) -> ProgramLoop:
    """With the length of its rounds by samples, unless Python counted them: where few
    of these take most of the time, samples cannot tell more. counted: as of loop_of.
    """
    if counted is not None:
        return loop
    return replace(loop, median_ms=round_ms(samples, loop.in_samples))


Place = tuple[str, str, int, int]
"""Of a loop, as in `HOST.samples.json`."""


def round_ms(samples: Samples, loop: Place) -> float:
    """By the returns to the program's line that takes most of the loop: regular ones,
    several samples apart, from what no condition keeps out of other rounds; or, where
    the loop stays long there and long elsewhere, all. 0 where there are none, as in
    rounds that are too short to be seen, or of which one line takes all.
    """
    at, line, most = _lines_of_loop(samples, loop)
    begins = (line[1:] == most) & (line[:-1] != most) & (line[:-1] >= 0)
    rounds = np.diff(at[1:][begins])
    is_long = len(rounds) >= _FEWEST_LONG and _stays_long(line == most, line >= 0)
    elsewhere = int(((line >= 0) & (line != most)).sum())
    is_met = elsewhere >= _SURELY_MET * int(begins.sum())
    if len(rounds) < (_FEWEST_ROUNDS if is_met else _FEWEST_BY_CHANCE):
        return 0.0
    usual, short = float(np.median(rounds)), float(np.quantile(rounds, 0.25))
    is_seen = usual >= _LEAST_SAMPLES * samples.every_ns
    is_regular = is_seen and short >= _REGULAR * usual
    return usual / 1e6 if is_long or is_regular else 0.0


def _lines_of_loop(samples: Samples, loop: Place) -> tuple[Int64Array, Int64Array, int]:
    """(when, at which line, the line that takes most) of the last samples that lie in
    no condition's guard: numbers of frames, -1 outside of the loop. No samples where
    what takes most is guarded.
    """
    at, numbers = samples.ticks()
    recent = at >= at[-1] - int(_TIMED_SECONDS * 1e9) if len(at) else at > 0
    recent &= _are_whole(samples)[numbers]
    at, numbers = at[recent], numbers[recent]
    lines = np.array(
        [_line_of_loop(samples, stack, loop) for stack in samples.stacks], np.int64
    )
    line = lines[numbers]
    most = int(np.bincount(line[line >= 0], minlength=1).argmax())
    seldom = np.array(
        [_is_on_condition(samples, stack, loop) for stack in samples.stacks], np.bool_
    )
    if seldom[lines == most].any():
        return at[:0], line[:0], most
    kept = ~seldom[numbers]
    return at[kept], line[kept], most


def _stays_long(at_most: BoolArray, in_loop: BoolArray) -> bool:
    """Whether most stays at the line that takes most are long, and so are most between
    them: rounds that are shorter than such a stay would show both lines in it.
    at_most, in_loop: of each sample.
    """
    changes = np.flatnonzero(np.diff(at_most)) + 1
    stays = np.diff(changes)  # between the first change and the last
    if not len(stays):
        return False
    is_at_most = at_most[changes[:-1]]
    is_whole = np.logical_and.reduceat(in_loop, changes)[:-1]
    each = [stays[is_whole & (is_at_most == here)] for here in (True, False)]
    return all(len(of_one) and np.median(of_one) >= _LONG_STAY for of_one in each)


def _usual(began: Iterable[tuple[str, str] | None]) -> tuple[str, str] | None:
    """The function with which most stacks begin: another one was read while its stack
    changed, as of Python that makes many short calls.
    """
    outermost = Counter(began)
    return max(outermost, key=outermost.__getitem__, default=None)


def _are_whole(samples: Samples) -> BoolArray:
    """Of each stack, whether it begins as most samples of the main thread do."""
    _, numbers = samples.ticks()
    began = [
        samples.frames[stack[0]][:2] if stack else None for stack in samples.stacks
    ]
    usual = _usual(began[number] for number in numbers.tolist())
    return np.array([function == usual for function in began], np.bool_)


def _is_on_condition(samples: Samples, stack: Sequence[int], loop: Place) -> bool:
    """Whether the program's loop is at a line that a condition of its guards."""
    looping, function, first, last = loop
    guarded = _guarded_lines(looping, first, last)
    calls = (samples.frames[number] for number in stack)
    lines = [line for file, name, line in calls if (file, name) == (looping, function)]
    return bool(lines) and lines[-1] in guarded


def _line_of_loop(samples: Samples, stack: Sequence[int], loop: Place) -> int:
    """The number of the innermost frame of the program while the loop is open, -1
    outside of it, and where it does what is no step.
    """
    frames = samples.frames
    looping, function, first, last = loop
    is_open = any(
        frames[number][:2] == (looping, function) and first <= frames[number][2] <= last
        for number in stack
    )
    own = [number for number in stack if is_own_file(frames[number][0])]
    calls = tuple(frames[number] for number in stack)
    return own[-1] if is_open and own and not _is_no_step(calls) else -1


# Where it loops.


def loop_of(
    stacks: Sequence[Stack],
    counted: dict[str, Any] | None = None,
) -> CountedRounds:
    """counted: the loop as Python went through it, where it tells that."""
    if counted is not None:
        return CountedRounds(_counted_loop(stacks, counted))
    stacks = _whole(stacks)
    if len(stacks) < _FEWEST_SAMPLES:
        return CountedRounds(None)

    found = _going_round(stacks)
    if found is not None:
        return CountedRounds(found)
    return CountedRounds(None, _inside(stacks))


def _whole(stacks: Sequence[Stack]) -> list[Stack]:
    """Without those that begin with another function than most."""
    usual = _usual(stack[0][:2] for stack in stacks)
    return [stack for stack in stacks if stack[0][:2] == usual]


def _counted_loop(stacks: Sequence[Stack], counted: dict[str, Any]) -> ProgramLoop:
    """Of the loops of a function the one that takes most of the samples, or the loop
    around it of which each round has few of its turns, as over parts of a batch.
    """
    stack = _with_function(stacks, counted["file"], counted["function"])
    lines = [
        frame[2]
        for found in stacks
        for frame in found
        if frame[:2] == (counted["file"], counted["function"])
    ]
    loops = sorted(_real_loops(counted), key=_length)
    inner = [next((loop for loop in loops if _holds(loop, at)), None) for at in lines]
    best = max(loops, key=lambda loop: (inner.count(loop), _length(loop)))
    for around in loops:
        is_around = all(_holds(around, line) for line in best["lines"])
        if is_around and best["rounds"] < _FEWEST_BATCHES * around["rounds"]:
            best = around
    loop = _program_loop(stack, len(stack) - 1, tuple(best["lines"]))
    return replace(
        loop,
        looping=counted["file"],
        median_ms=best["median_ms"],
        each=tuple(best["each"]),
    )


def _real_loops(counted: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that Python counted, with the lines of the file's own loops: what a
    condition guards comes less often, and is in no loop of its own.
    """
    found: dict[tuple[int, ...], dict[str, Any]] = {}
    for loop in counted["loops"]:
        lines = _loop_around(counted["file"], *loop["lines"]) or tuple(loop["lines"])
        same = found.get(lines)
        if same is None or same["rounds"] < loop["rounds"]:
            found[lines] = {**loop, "lines": list(lines)}
    return list(found.values())


def _length(loop: dict[str, Any]) -> int:
    """In lines."""
    first, last = loop["lines"]
    return int(last - first)


def _holds(loop: dict[str, Any], line: int) -> bool:
    first, last = loop["lines"]
    return bool(first <= line <= last)


def _with_function(stacks: Sequence[Stack], file: str, function: str) -> Stack:
    """The part of a stack down to a function; it alone where no sample met it."""
    for stack in reversed(stacks):
        for depth, frame in enumerate(stack):
            if frame[:2] == (file, function):
                return stack[: depth + 1]
    return ((file, function, 0),)


def _going_round(stacks: Sequence[Stack]) -> ProgramLoop | None:
    """Outermost first: the function in which lines come again and again; where none is
    seen to, the innermost whose line, the same in all samples, lies in a loop. What a
    library's loop over batches calls is a part of its round.
    """
    steady: ProgramLoop | None = None
    for depth in range(min(map(len, stacks))):
        functions = {stack[depth][:2] for stack in stacks}
        if len(functions) > 1:
            break
        again = _lines_that_return([stack[depth][2] for stack in stacks])
        if again:
            span = min(again), max(again)
            around = _loop_around(stacks[-1][depth][0], *span)
            return _program_loop(stacks[-1], depth, around or span)
        # One thing after the other: what it does now.
        stacks = _tail(stacks, depth)
        if len(stacks) < _FEWEST_SAMPLES:
            break
        steady = _in_loop(stacks[-1], depth, steady) or steady
        if _is_over_batches(stacks[-1][depth]):
            break
    return steady


def _is_over_batches(frame: Frame) -> bool:
    """Whether a library's training loop is at a line of its innermost loop, and not at
    the end of an epoch.
    """
    file, function, line = frame
    if not loops_over_steps(file, function):
        return False
    around = _loop_around(file, line, line)
    if around is None:
        return False
    first, last = around
    return all(begin <= first or end > last for begin, end in _loops_in(file))


def _in_loop(
    stack: Stack,
    depth: int,
    before: ProgramLoop | None,
) -> ProgramLoop | None:
    """Where the line of the function at that depth is in a loop. Of a library only
    where none was before.
    """
    file, _, line = stack[depth]
    if before is not None and not is_own_file(file):
        return None
    around = _loop_around(file, line, line)
    return None if around is None else _program_loop(stack, depth, around)


def _lines_that_return(lines: Sequence[int]) -> set[int]:
    """Those to which it comes back again and again."""
    returns: dict[int, int] = {}
    seen: set[int] = set()
    before = None
    for line in lines:
        if line != before and line in seen:
            returns[line] = returns.get(line, 0) + 1
        seen.add(line)
        before = line
    return {line for line, count in returns.items() if count >= _FEWEST_RETURNS}


def _tail(stacks: Sequence[Stack], depth: int) -> Sequence[Stack]:
    last = stacks[-1][depth]
    first = len(stacks)
    while first and stacks[first - 1][depth] == last:
        first -= 1
    return stacks[first:]


def _program_loop(
    stack: Stack,
    depth: int,
    lines: tuple[int, ...],
) -> ProgramLoop:
    """Of the function at that depth, or of what calls it where that is a library's."""
    looping, function, line = stack[depth]
    first, last = lines
    within = ""
    file = looping
    if not is_own_file(looping):
        within = function
        own = [frame for frame in stack[:depth] if is_own_file(frame[0])]
        if own:
            file, function, line = own[-1]
    return ProgramLoop(
        file,
        line if within or first <= line <= last else first,
        function,
        within,
        any(name == "adapt" for _, name, _ in stack),
        lines=(first, last),
        looping=looping,
    )


def _inside(stacks: Sequence[Stack]) -> str:
    """The line of the program's call that all of them are in, without a loop."""
    if len(set(stacks)) > 1:
        return ""
    own = [frame for frame in stacks[0] if is_own_file(frame[0])]
    return f"{Path(own[-1][0]).name}:{own[-1][2]}" if own else ""


def _loop_around(file: str, first: int, last: int) -> tuple[int, int] | None:
    """The first and the last line of the innermost loop around both."""
    around = [loop for loop in _loops_in(file) if loop[0] <= first and last <= loop[1]]
    return min(around, key=lambda loop: loop[1] - loop[0], default=None)


@lru_cache(maxsize=64)
def _loops_in(file: str) -> tuple[tuple[int, int], ...]:
    """Of a file in Python; empty for one that is not here."""
    tree = _tree_of(file)
    return () if tree is None else tuple(_loops(tree))


@lru_cache(maxsize=64)
def _guarded_lines(file: str, first: int, last: int) -> frozenset[int]:
    """Of a loop between two lines those that run if a condition holds."""
    tree = _tree_of(file)
    if tree is None or not is_own_file(file):
        return frozenset()
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and first < node.lineno <= last:
            begin, end = node.body[0].lineno, node.end_lineno or node.lineno
            found.update(range(begin, end + 1))
    return frozenset(found)


def _tree_of(file: str) -> ast.Module | None:
    """None for a file that is no Python, or is not here."""
    try:
        return ast.parse(read_small_text(Path(file), _MOST_SOURCE_BYTES))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _loops(tree: ast.AST) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While | ast.AsyncFor):
            yield node.lineno, node.end_lineno or node.lineno
