"""What comes next by what a program has shown: scripts of events, without a process, a
file or a clock. Times of steps and rounds in ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tfadvisor.act.record.choosing import RecordedRun, RecordRequest
from tfadvisor.act.record.looking import (
    Count,
    Finished,
    Look,
    LooksSoFar,
    Over,
    Record,
    Seen,
    State,
    TriedRecording,
    Wait,
    first_state,
    next_state,
)
from tfadvisor.act.record.pace import Pace
from tfadvisor.act.record.rounds import CountedRounds, ProgramLoop
from tfadvisor.act.record.settling import Ready
from tfadvisor.act.record.window import NoWindow, RecordedWindow

WANTED = RecordRequest(None, 20)
SETTLED, RESTLESS = Ready(()), Ready((), 4.0)
LOOP = (5, 7)


def window(
    step_ms: float | None, count: int = 20, *, compiles: bool = False, about: str = ""
) -> RecordedWindow:
    pace = None
    if step_ms is not None:
        pace = Pace(count, step_ms, compiles=compiles, about=about)
    return RecordedWindow(Path("w"), False, 0.0, 1.0, SimpleNamespace(), pace)  # type: ignore[arg-type]


def loop(lines: tuple[int, int] | None, median_ms: float = 100.0) -> ProgramLoop | None:
    if lines is None:
        return None
    return ProgramLoop("train.py", lines[0], "main", "", False, median_ms, lines)


def counted(lines: tuple[int, int] | None = None, inside: str = "") -> CountedRounds:
    return CountedRounds(loop(lines), inside)


def tried(
    look: RecordedWindow, after: CountedRounds, *, beside: bool = False
) -> TriedRecording:
    return TriedRecording(RecordedRun(look, look), after, beside=beside)


def after(seen: Sequence[Seen], wanted: RecordRequest = WANTED) -> State:
    """The state to which these events lead."""
    state = first_state(wanted)
    for one in seen:
        state = next_state(state, one)
    return state


def test_a_program_that_steps_is_recorded() -> None:
    """It is waited for, its rounds are counted, a look shows steps, and the loop goes
    on once they are recorded.
    """
    look = window(100.0)
    script = [SETTLED, counted(LOOP), look, tried(look, counted(LOOP))]

    states = [type(after(script[:number])) for number in range(len(script) + 1)]

    assert states == [Wait, Count, Look, Record, Finished]


@pytest.mark.parametrize(
    "script",
    [
        [Over()],
        [SETTLED, counted(LOOP), Over()],
        [SETTLED, counted(LOOP), NoWindow("busy"), Over()],
    ],
    ids=["before it trains", "its processes left", "no window"],
)
def test_a_program_that_ends_first_leaves_nothing(script: list[Seen]) -> None:
    state = after(script)

    assert isinstance(state, Finished)
    assert state.known.found is None


def test_what_an_evaluation_shows_is_recorded_anew_twice() -> None:
    """A third time it is what the program does."""
    look = window(100.0)
    beside = [SETTLED, counted(LOOP), look, tried(look, counted(LOOP), beside=True)]

    assert [type(after(beside * times)) for times in (1, 2, 3)] == [
        Wait,
        Wait,
        Finished,
    ]


def test_what_stood_in_the_way_last_is_known() -> None:
    refused = [SETTLED, counted(), NoWindow("busy")]

    assert after([*refused, Over()]).known.why == "busy"
    assert after([*refused, SETTLED, counted(), NoWindow(None)]).known.why is None


def test_the_best_look_is_what_there_is_of_a_program_that_ends_early() -> None:
    """Two steps are no rhythm. A later look counts, unless it alone compiles."""
    first, second, third = window(9.0, 2), window(8.0, 2), window(7.0, 2, compiles=True)
    script: list[Seen] = []
    for look in (first, second, third):
        script += [SETTLED, counted(LOOP), look]

    found = after([*script, Over()]).known.found

    assert found is not None
    assert found.chosen is second
    assert found.rounds == (loop(LOOP), None)


def test_each_wait_is_longer_and_more_patient_where_it_was_restless() -> None:
    again = [counted(), NoWindow(None)]
    first, second, third = (
        after([]),
        after([RESTLESS, *again]),
        after([RESTLESS, *again, SETTLED, *again]),
    )

    waits = [one for one in (first, second, third) if isinstance(one, Wait)]
    assert [one.quiet_seconds for one in waits] == pytest.approx([0.3, 0.6, 1.2])
    assert [one.patience_seconds for one in waits] == pytest.approx([10, 15, 15])


def test_rounds_are_counted_longer_until_one_has_gone_round() -> None:
    again = [SETTLED, counted(), NoWindow(None)]

    counts = [after([*again * looks, SETTLED]) for looks in range(4)]

    seconds = [one.seconds for one in counts if isinstance(one, Count)]
    assert seconds == [3.0, 6.0, 12.0, 12.0]


@pytest.mark.parametrize(
    ("ready", "rounds", "seconds"),
    [(SETTLED, None, 0.2), (RESTLESS, None, 4.0), (SETTLED, LOOP, 2.15)],
    ids=["nothing known", "several compilations", "all steps, by their rounds"],
)
def test_a_look_holds_what_is_looked_for(
    ready: Ready, rounds: tuple[int, int] | None, seconds: float
) -> None:
    state = after([ready, counted(rounds)])

    assert isinstance(state, Look)
    assert state.seconds == pytest.approx(seconds)


def test_a_profiler_that_failed_is_not_started_again() -> None:
    state = after([SETTLED, counted(LOOP), NoWindow("no counters", is_last=True)])

    assert isinstance(state, Finished)
    assert (state.known.why, state.known.failed) == ("no counters", True)


def test_after_so_many_looks_it_is_enough() -> None:
    assert isinstance(after([SETTLED, counted(), NoWindow(None)] * 14), Finished)
    assert isinstance(after([SETTLED, counted(), NoWindow(None)] * 13), Wait)


# Steps that compile.


@pytest.mark.parametrize(
    ("ready", "looks", "steps"), [(SETTLED, 3, 20), (RESTLESS, 2, 8)]
)
def test_steps_that_always_compile_are_believed_in_a_later_look(
    ready: Ready, looks: int, steps: int
) -> None:
    """In the third; in the second, and with fewer steps, where nothing but compiling
    was seen: both hold several compilations.
    """
    look = [ready, counted(), window(100.0, 5, compiles=True)]

    state = after(look * looks)

    assert isinstance(after(look * (looks - 1)), Wait)
    assert isinstance(state, Record)
    assert state.wanted.steps == steps


def test_looks_at_something_else_each_time_are_no_steps() -> None:
    """Parts of the start compile as well: 100 ms, then 200, then 100 and so on, until
    there are no more looks.
    """
    script: list[Seen] = []
    for number in range(14):
        look = window(100.0 * (1 + number % 2), 5, compiles=True)
        script += [RESTLESS, counted(), look]

    state = after(script)

    assert isinstance(state, Finished)
    assert state.known.found is not None


@pytest.mark.parametrize(
    ("lines", "is_shown"), [(LOOP, True), (None, False)], ids=["a loop", "no loop"]
)
def test_a_program_that_goes_round_without_steps_is_shown_as_it_was_seen_last(
    lines: tuple[int, int] | None, is_shown: bool
) -> None:
    """Three looks show nothing that repeats, then the program ends."""
    looks = [window(None) for _ in range(3)]
    script: list[Seen] = []
    for look in looks:
        script += [SETTLED, counted(lines), look]

    state = after([*script, Over()])

    assert isinstance(state, Finished)
    found = state.known.found
    assert (found is not None and found.chosen is looks[-1]) is is_shown


@pytest.mark.parametrize(("looks", "is_shown"), [(4, True), (3, False)])
def test_a_program_that_was_looked_at_for_long_is_shown_without_a_loop(
    looks: int, is_shown: bool
) -> None:
    """None of the looks shows steps, and no loop is known."""
    script = [SETTLED, counted(), window(None)] * looks

    found = after([*script, Over()]).known.found

    assert (found is not None) is is_shown


@pytest.mark.parametrize(("closed", "is_last"), [(0.5, True), (0.49, False)])
def test_of_looks_without_steps_one_that_the_end_cuts_off_is_not_the_one_to_show(
    closed: float, is_last: bool
) -> None:
    """The one before took a second."""
    cut = replace(window(None), closed=closed)
    script = [SETTLED, counted(LOOP), window(None), SETTLED, counted(LOOP), cut]

    found = after([*script, Over()]).known.found

    assert found is not None
    assert (found.chosen is cut) is is_last


# What repeats and takes less than a round.


def looked_at(shown: Sequence[float], about: str = "") -> Iterator[State]:
    """Looks at a loop with rounds of 100 ms, each of which shows such steps."""
    script: list[Seen] = []
    for number, step_ms in enumerate(shown):
        wanted = replace(WANTED, step=about)
        yield after([*script, SETTLED, counted(LOOP)], wanted)
        look = window(step_ms, 11 + number, about=about)
        script += [SETTLED, counted(LOOP), look]
    yield after(script, replace(WANTED, step=about))


@pytest.mark.parametrize(
    ("shown", "seconds"),
    [([2.0, 95.0], [2.15, 4.3]), ([2.0] * 3, [2.15, 4.3, 8.6]), ([60.0], [2.15])],
    ids=["too few rounds in the first", "many steps in each round", "most of it"],
)
def test_what_takes_little_of_a_round_is_looked_at_longer(
    shown: list[float], seconds: list[float]
) -> None:
    *looks, last = looked_at(shown)

    assert [one.seconds for one in looks if isinstance(one, Look)] == seconds
    assert isinstance(last, Record)


def test_what_was_asked_for_may_take_little_of_a_round() -> None:
    """`--step clip`, which takes 2 ms of a round of 100: one look, then the
    recording.
    """
    _, last = looked_at([2.0], "clip")

    assert isinstance(last, Record)


def test_a_window_that_the_programs_memory_cut_is_recorded_again() -> None:
    """Looks of 8, 12 and 15 steps of 20, each closed early: after two of them what
    there is is taken. A recording that was cut is made again, too.
    """
    cut = [replace(window(100.0, count), cut_in_vain=True) for count in (8, 12, 15)]
    again = [part for look in cut[:2] for part in (SETTLED, counted(LOOP), look)]
    whole = [SETTLED, counted(LOOP), window(100.0)]

    assert isinstance(after(again[:3]), Wait)
    assert isinstance(after(again), Wait)
    assert isinstance(after([*again, SETTLED, counted(LOOP), cut[2]]), Record)
    assert isinstance(after([*whole, tried(cut[0], counted(LOOP))]), Wait)


# A program that is in one call all the time.


@pytest.mark.parametrize(
    ("inside", "step_ms", "calls", "said"),
    [
        ("train.py:19", 2.0, False, "train.py:19"),
        ("train.py:19", 100.0, True, ""),
        ("", 2.0, True, ""),
    ],
    ids=["steps inside of it", "it may be the step itself", "a loop"],
)
def test_calls_of_python_say_nothing_of_what_is_in_one(
    inside: str, step_ms: float, calls: bool, said: str
) -> None:
    look = window(step_ms)
    script = [SETTLED, counted(inside=inside), look]

    state = after(script)
    done = after([*script, tried(look, counted(inside=inside))])

    assert isinstance(state, Record)
    assert state.wanted.python_tracer is calls
    assert done.known.found is not None
    assert done.known.found.inside == said


# Which loop goes on.


@pytest.mark.parametrize(
    ("seen", "recordings"),
    [
        ([LOOP, (5, 9)], 1),
        ([LOOP, (9, 12), (9, 12), (10, 12)], 2),
        ([LOOP, (9, 12), (9, 12), LOOP], 2),
        ([LOOP, None], 1),
        ([None, LOOP], 1),
    ],
    ids=[
        "the same",
        "what checks before training was over",
        "training and validation, again and again",
        "the program has ended",
        "nothing was counted before",
    ],
)
def test_the_loop_that_goes_on_is_recorded(
    seen: list[tuple[int, int] | None], recordings: int
) -> None:
    """Loops of train.py by their lines, before and after each recording."""
    look = window(100.0)
    script: list[Seen] = []
    for lines, lines_after in zip(seen[::2], seen[1::2], strict=True):
        script += [SETTLED, counted(lines), look, tried(look, counted(lines_after))]

    assert isinstance(after(script), Finished)
    assert recordings == 1 or isinstance(after(script[:4]), Wait)


def test_a_recording_is_kept_where_the_program_ends_before_the_next_one() -> None:
    look = window(100.0)
    script = [SETTLED, counted(LOOP), look, tried(look, counted((9, 12))), Over()]

    found = after(script).known.found

    assert found is not None
    assert found.rounds == (loop(LOOP), loop((9, 12)))


def test_nothing_is_known_at_first() -> None:
    assert first_state(WANTED) == Wait(LooksSoFar(WANTED))
