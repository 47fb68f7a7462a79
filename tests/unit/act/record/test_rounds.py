"""Which loop a program is in, by stacks made by hand and the lines of its file."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace
from support.stacks import KERAS, sampled

from tfadvisor.act.record.board import Process
from tfadvisor.act.record.rounds import (
    ProgramLoop,
    Stack,
    is_beside_steps,
    loop_of,
    quickest_rounds,
    round_ms,
    rounds_seen,
    timed,
)
from tfadvisor.act.record.watch import Watch
from tfadvisor.trace.samples import Samples

PROGRAM = """
    def main():
        prepare()
        for epoch in range(9):
            for batch in batches():
                step(batch)
            evaluate()

    def step(batch):
        for part in batch:
            work(part)

    main()
    """
LIBRARY = "/usr/lib/python3.11/site-packages/keras/trainer.py"


@pytest.fixture
def train(tmp_path: Path) -> str:
    file = tmp_path / "train.py"
    file.write_text(dedent(PROGRAM).lstrip())
    return str(file)


def main_at(train: str, line: int, *below: tuple[str, str, int]) -> Stack:
    return ((train, "<module>", 12), (train, "main", line), *below)


def test_the_outermost_lines_that_come_again_are_the_loop(train: str) -> None:
    """It asks for a batch and steps, 10 samples each, five times. The loop inside of
    the step goes round as well.
    """
    step = (train, "step", 10), (train, "work", 20)
    stacks = [main_at(train, 4)] * 10 + [main_at(train, 5, *step)] * 10

    loop = loop_of(stacks * 5).loop

    assert loop is not None
    assert (loop.function, loop.line, loop.lines) == ("main", 5, (4, 5))
    assert loop.in_samples == (train, "main", 4, 5)
    assert loop.median_ms == 0.0


def test_a_step_that_takes_all_the_time_is_in_the_innermost_loop_of_the_program(
    train: str,
) -> None:
    """Nothing but the step is met, which waits in a library."""
    waits = ("/usr/lib/python3.11/site-packages/jax/array.py", "wait", 7)

    loop = loop_of([main_at(train, 5, waits)] * 100).loop

    assert loop is not None
    assert (loop.function, loop.lines) == ("main", (4, 5))


TORN: Stack = (("/usr/lib/python3.11/inspect.py", "name", 7),)
"""As a stack is read while it changes."""


def test_stacks_that_were_read_while_they_changed_hide_no_loop(train: str) -> None:
    """Every fifth, as of Python that makes many short calls."""
    turn = [main_at(train, 4)] * 4 + [TORN] + [main_at(train, 5)] * 15

    loop = loop_of(turn * 5).loop

    assert loop is not None
    assert (loop.function, loop.lines) == ("main", (4, 5))
    assert loop_of([*[main_at(train, 5)] * 19, *[TORN] * 15]).loop is None


def test_what_was_before_the_loop_is_no_part_of_it(train: str) -> None:
    stacks = [main_at(train, 2)] * 50 + [main_at(train, 5)] * 30

    loop = loop_of(stacks).loop

    assert loop is not None
    assert loop.lines == (4, 5)
    assert loop_of([*stacks, *[main_at(train, 2)] * 5]).loop is None


def test_a_librarys_loop_is_at_the_line_that_calls_it(train: str) -> None:
    stacks = [main_at(train, 6, (LIBRARY, "fit", line)) for line in [397, 399] * 10]

    loop = loop_of(stacks).loop

    assert loop is not None
    assert loop.place == "train.py:6, in fit()"
    assert loop.in_samples == (LIBRARY, "fit", 397, 399)
    assert not loop.prepares


def test_a_layer_that_adapts_prepares(train: str) -> None:
    adapts = ("/usr/lib/python3.11/site-packages/keras/layer.py", "adapt", 5)
    stacks = [
        main_at(train, 2, adapts, (LIBRARY, "each", line)) for line in [1, 2] * 10
    ]

    loop = loop_of(stacks).loop

    assert loop is not None
    assert loop.prepares


def test_one_call_that_never_loops_is_named(train: str) -> None:
    """Line 2 is in no loop; a loop of which nothing but one line is met may go on."""
    found = loop_of([main_at(train, 2, (LIBRARY, "scan", 3))] * 30)

    assert (found.loop, found.inside) == (None, "train.py:2")
    assert loop_of([main_at(train, 5)] * 30).inside == ""


def test_few_samples_tell_no_loop(train: str) -> None:
    assert loop_of([main_at(train, 5)] * 19).loop is None


def test_rounds_that_python_counted_come_first(train: str) -> None:
    loops = [{"lines": [4, 5], "each": [4, 5], "median_ms": 2.5, "rounds": 20}]
    counted = {"file": train, "function": "main", "loops": loops}

    loop = loop_of([main_at(train, 5)] * 3, counted).loop

    assert loop is not None
    assert (loop.function, loop.line, loop.median_ms) == ("main", 5, 2.5)
    assert loop.each == (4, 5)


@pytest.mark.parametrize(
    ("rounds", "lines"),
    [(100, (11, 13)), (32, (11, 13)), (31, (10, 20))],
    ids=["25 batches", "8 batches", "some parts"],
)
def test_a_loop_of_which_a_round_takes_few_turns_is_no_loop_of_steps(
    train: str, rounds: int, lines: tuple[int, int]
) -> None:
    """Four rounds of the outer loop. Another inner one, of lines 15 to 17, takes less
    of the samples.
    """
    loops = [
        {"lines": [10, 20], "each": [], "median_ms": 120.0, "rounds": 4},
        {"lines": [15, 17], "each": [], "median_ms": 1.0, "rounds": 40},
        {
            "lines": [11, 13],
            "each": [11, 12],
            "median_ms": 120.0 / rounds,
            "rounds": rounds,
        },
    ]
    counted = {"file": train, "function": "main", "loops": loops}
    at = [12] * 20 + [16] * 10 + [19] * 5

    loop = loop_of([main_at(train, line) for line in at], counted).loop

    assert loop is not None
    assert loop.lines == lines


def test_the_count_that_was_disturbed_least_tells_how_long_a_round_is() -> None:
    """Of another loop, or without a length, none counts."""
    found = ProgramLoop("train.py", 9, "main", "", False, 20.0, (8, 12))
    others = [
        replace(found, median_ms=13.0),
        replace(found, median_ms=0.0),
        replace(found, median_ms=5.0, lines=(20, 24)),
        None,
    ]

    quickest = quickest_rounds((None, found, *others))
    assert quickest is not None
    assert quickest.median_ms == 13.0
    assert quickest_rounds((None, None)) is None


def test_a_line_that_a_condition_guards_is_no_loop_of_its_own(tmp_path: Path) -> None:
    """Line 5 waits for ten steps in every tenth round, and takes all samples."""
    file = tmp_path / "train.py"
    lines = (
        "def main():",
        " for n in steps:",
        "  step()",
        "  if n % 10 == 0:",
        "   wait()",
    )
    file.write_text("\n".join(lines))
    loops = [
        {"lines": [5, 5], "each": [5], "median_ms": 60.0, "rounds": 10},
        {"lines": [2, 4], "each": [2, 3, 4], "median_ms": 0.1, "rounds": 100},
    ]
    counted = {"file": str(file), "function": "main", "loops": loops}

    loop = loop_of([main_at(str(file), 5)] * 30, counted).loop

    assert loop is not None
    assert (loop.lines, loop.median_ms, loop.each) == ((2, 5), 0.1, (2, 3, 4))


def test_without_samples_the_outermost_counted_loop_is_that_of_the_steps(
    train: str,
) -> None:
    loops = [
        {"lines": [10, 20], "each": [], "median_ms": 120.0, "rounds": 4},
        {"lines": [11, 13], "each": [], "median_ms": 1.2, "rounds": 400},
    ]
    counted = {"file": train, "function": "main", "loops": loops}

    loop = loop_of([], counted).loop

    assert loop is not None
    assert (loop.lines, loop.median_ms) == ((10, 20), 120.0)


def sampled_by_turns(train: str, *lengths: tuple[int, int]) -> Samples:
    """A sample each 10 ms: (line of main, how many of them) one after the other."""
    lines = sorted({line for line, _ in lengths})
    runs, tick = [], 0
    for line, count in lengths:
        runs.append((tick * 10_000, 0, lines.index(line), count))
        tick += count
    return Samples(
        2,
        10_000_000,
        began_ns=10**18,
        frames=[(train, "main", line) for line in lines],
        stacks=[[number] for number in range(len(lines))],
        threads=[("MainThread", True, "1")],
        samples=runs,
    )


LOOP = {"function": "main", "within": "", "prepares": False, "lines": (4, 6)}


def test_regular_returns_to_a_line_are_rounds(train: str) -> None:
    """Line 5 for 170 ms and line 6 for 30 ms by turns: rounds of 200 ms."""
    loop = ProgramLoop(train, 5, looping=train, **LOOP)
    turns = [(5, 17), (6, 3)] * 8

    assert round_ms(sampled_by_turns(train, *turns), loop.in_samples) == pytest.approx(
        200
    )


def test_stacks_that_were_read_while_they_changed_hide_no_rounds(train: str) -> None:
    """One comes before each return to line 5, which would hide it."""
    loop = ProgramLoop(train, 5, looping=train, **LOOP)
    samples = sampled_by_turns(train, *[(5, 17), (6, 2), (9, 1)] * 8)
    torn = [(train, "main", line) for line in (5, 6)] + [TORN[0]]
    stacks = [[number % 3] for number in range(24)]
    samples = replace(samples, frames=torn, stacks=stacks)

    assert round_ms(samples, loop.in_samples) == pytest.approx(200)


def test_samples_time_no_rounds_that_python_counted(train: str) -> None:
    """The same samples, of a loop in which few of the counted rounds take most: how
    long the others are is not known.
    """
    loop = ProgramLoop(train, 5, looping=train, **LOOP)
    samples = sampled_by_turns(train, *[(5, 17), (6, 3)] * 8)
    counted = {"file": train, "function": "main", "rounds": 40, "loops": []}

    assert timed(loop, None, samples).median_ms == pytest.approx(200)
    assert timed(loop, counted, samples).median_ms == 0.0


def test_what_chance_meets_between_samples_is_no_round(train: str) -> None:
    """Of rounds shorter than what lies between samples, line 6 is met now and then."""
    loop = ProgramLoop(train, 5, looping=train, **LOOP)
    by_chance = [2, 31, 1, 9, 4, 55, 3, 17, 1, 6, 24, 2, 40, 5]
    turns = [turn for count in by_chance for turn in ((5, count), (6, 1))]

    assert round_ms(sampled_by_turns(train, *turns), loop.in_samples) == 0.0


def test_what_a_condition_guards_makes_no_rounds(tmp_path: Path) -> None:
    """Line 4, the save, comes every 25 steps, 250 ms: it takes 30 ms."""
    file = tmp_path / "train.py"
    lines = "def main():", " for n in steps:", "  step()", "  if n % 25:", "   save()"
    file.write_text("\n".join(lines))
    loop = ProgramLoop(str(file), 3, looping=str(file), **{**LOOP, "lines": (2, 5)})
    turns = [(3, 22), (5, 3)] * 8
    unguarded = "\n".join((*lines[:3], "  if n % 25: pass", "  save()"))

    assert round_ms(sampled_by_turns(str(file), *turns), loop.in_samples) == 0.0

    other = tmp_path / "other.py"
    other.write_text(unguarded)
    again = replace(loop, file=str(other), looping=str(other))
    assert round_ms(
        sampled_by_turns(str(other), *turns), again.in_samples
    ) == pytest.approx(250)


def test_the_line_that_takes_most_is_in_each_round(tmp_path: Path) -> None:
    """Line 5 waits every tenth round for those before, for most of the time."""
    file = tmp_path / "train.py"
    lines = "def main():", " for n in steps:", "  step()", "  if n % 10:", "   read()"
    file.write_text("\n".join(lines))
    loop = ProgramLoop(str(file), 3, looping=str(file), **{**LOOP, "lines": (2, 5)})
    samples = sampled_by_turns(str(file), *[(3, 10), (5, 40)] * 8)

    assert round_ms(samples, loop.in_samples) == 0.0


def test_rounds_of_long_stays_need_not_be_regular(train: str) -> None:
    """Line 5 for 300 ms to 3 s, as it may compile, and line 6 for 200 ms: the eight
    whole rounds take 0.5, 0.6, 1, 1.1, 1.7, 1.7, 2.2 and 3.2 s. Where line 6 is met for
    70 ms each may be many.
    """
    loop = ProgramLoop(train, 5, looping=train, **LOOP)
    lengths = [30, 150, 80, 200, 30, 90, 150, 40, 300, 60]
    turns = [turn for count in lengths for turn in ((5, count), (6, 20))]
    short = [turn for count in lengths for turn in ((5, count), (6, 7))]

    whole = sampled_by_turns(train, *turns)
    assert round_ms(whole, loop.in_samples) == pytest.approx(1400)
    assert round_ms(sampled_by_turns(train, *short), loop.in_samples) == 0.0


def test_four_returns_from_single_samples_are_chance(train: str) -> None:
    """Regular ones, but each from one sample; twelve are no chance any more."""
    loop = ProgramLoop(train, 5, looping=train, **LOOP)
    turn = [(5, 29), (6, 1)]

    assert round_ms(sampled_by_turns(train, *turn * 6), loop.in_samples) == 0.0
    assert round_ms(
        sampled_by_turns(train, *turn * 14), loop.in_samples
    ) == pytest.approx(300)


def test_a_line_that_takes_all_has_no_rounds_to_see(train: str) -> None:
    loop = ProgramLoop(train, 5, looping=train, **LOOP)

    assert round_ms(sampled_by_turns(train, (5, 500)), loop.in_samples) == 0.0


# What a program does that is no step.

PROCESS = Process("7", 7, "here", False, {}, 1, None, {}, left=False)


class Watched:
    """Stands in for a watch: one process, of which samples say this."""

    def __init__(self, script: list[tuple[str, int]]) -> None:
        self._samples = msgspec.to_builtins(sampled(script))

    def known(self) -> Watched:
        return self

    def seen(self) -> Watched:
        return self

    def of_process(self, _pid: int | None) -> dict[str, Any]:
        return self._samples


def test_a_program_that_only_evaluates_is_recorded_at_once() -> None:
    evaluates = "eval.py:<module>:9 keras/backend/trainer.py:evaluate:481"
    watch = cast("Watch", Watched([(evaluates, 600)]))

    assert not is_beside_steps(watch, [PROCESS], (10**9 + 5.0, 10**9 + 6.0))


@pytest.mark.parametrize("turns", [8, 2])
def test_the_loop_of_a_program_that_ended_is_in_all_that_was_seen(turns: int) -> None:
    """Imports for a second, then turns of 250 ms; two turns come back too seldom."""
    imports = [("train.py:<module>:1 /venv/site-packages/jax/__init__.py:f:9", 100)]
    main = "train.py:<module>:12 train.py:main"
    turn = [(f"{main}:5", 20), (f"{main}:6", 5)]
    watch = cast("Watch", Watched([*imports, *turns * turn]))

    loop = rounds_seen(watch, [PROCESS]).loop

    assert (loop is not None) is (turns == 8)
    assert loop is None or (loop.lines, loop.median_ms) == ((5, 6), 250.0)


@pytest.mark.parametrize(
    ("ends", "is_beside"),
    [(81, True), (80, False)],
    ids=["81 of 100 samples", "four fifths"],
)
def test_a_window_at_the_end_of_an_epoch_holds_no_steps(
    ends: int, is_beside: bool
) -> None:
    """Samples come every 10 ms; the window holds the last hundred, a second."""
    fit = "train.py:<module>:52 keras/backend/trainer.py:fit"
    at_its_end = f"{fit}:438 keras/callbacks/callback_list.py:on_epoch_end:171"
    steps = f"{fit}:399 tensorflow/eager/execute.py:quick_execute:53"
    script = [(at_its_end, 500), (steps, 100 - ends), (at_its_end, ends)]
    watch = cast("Watch", Watched(script))
    began = 10**9
    window = began + 5.0, began + 6.0

    assert is_beside_steps(watch, [PROCESS], window) is is_beside


def test_an_epoch_is_no_round_of_fit() -> None:
    """Every second the end of an epoch takes 300 ms: what passes from one to the next
    is no round.
    """
    fit = "train.py:<module>:52 keras/backend/trainer.py:fit"
    ends = f"{fit}:438 keras/callbacks/callback_list.py:on_epoch_end:171 train.py:ends"
    steps = f"{fit}:399 tensorflow/eager/execute.py:quick_execute:53"
    file = "/home/me/train.py"
    keras = f"{KERAS}backend/trainer.py"
    loop = ProgramLoop(
        file,
        52,
        "<module>",
        "fit",
        prepares=False,
        lines=(393, 441),
        looping=keras,
    )

    assert (
        round_ms(sampled(8 * [(steps, 70), (f"{ends}:40", 30)]), loop.in_samples) == 0.0
    )
    callbacks = f"{fit}:400 train.py:on:9"
    by_turns = sampled(8 * [(steps, 70), (callbacks, 30)])
    assert round_ms(by_turns, loop.in_samples) == pytest.approx(1000)


@pytest.mark.parametrize(
    ("line", "function", "lines"),
    [(4, "fit", (3, 4)), (5, "on_batch_end", (9, 10))],
    ids=["after a batch", "at the end of an epoch"],
)
def test_a_loop_that_a_batch_calls_back_is_a_part_of_fits_round(
    tmp_path: Path, line: int, function: str, lines: tuple[int, int]
) -> None:
    """A callback goes through nine texts, line 9 and what it calls by turns; fit is at
    one line meanwhile.
    """
    trainer = tmp_path / "keras" / "src" / "backend" / "tensorflow" / "trainer.py"
    trainer.parent.mkdir(parents=True)
    fit = "def fit(data):", " for epoch in epochs:", "  for batch in data:"
    trainer.write_text("\n".join((*fit, "   call(batch)", "  end()")))
    train = tmp_path / "train.py"
    callback = " for text in texts:", "  predict(text)"
    train.write_text("\n".join((*7 * ["#"], "def on_batch_end():", *callback)))
    outer = (str(train), "<module>", 20), (str(trainer), "fit", line)
    inner = [(str(train), "on_batch_end", at) for at in (9, 10)]
    stacks = [(*outer, inner[tick // 3 % 2]) for tick in range(60)]

    loop = loop_of(stacks).loop

    assert loop is not None
    assert (loop.within or loop.function) == function
    assert loop.lines == lines
