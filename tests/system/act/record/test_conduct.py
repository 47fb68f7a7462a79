"""Which window the report is about, with windows made up. Times of steps in ms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tfadvisor.act.record.conduct import (
    Nothing,
    Recorded,
    Wanted,
    conduct,
    gave_up,
    record_fully,
    record_plainly,
    window_seconds,
)
from tfadvisor.act.record.window import Loop, Pace, Ready, Refused, Window
from tfadvisor.analysis import Options


def window(
    step_ms: float,
    *,
    python_tracer: bool = False,
    count: int = 20,
    opened: float = 0.0,
    followed: int | None = None,
    compiles: bool = False,
    folder: Path = Path("w"),
) -> Window:
    pace = Pace(count, step_ms, compiles=compiles)
    report = SimpleNamespace(findings=())
    return Window(
        folder,
        python_tracer,
        opened,
        opened + 1,
        report=report,
        pace=pace,
        followed=followed,
    )


class Windows:
    """Hands out windows in turn; lists what was asked for."""

    def __init__(
        self, with_tracer: list[Window | Refused], without: list[Window | Refused]
    ) -> None:
        self.with_tracer, self.without, self.asked = with_tracer, without, ""

    def __call__(self, seconds: float, *, python_tracer: bool) -> Window | Refused:
        self.asked += "P" if python_tracer else "-"
        return (self.with_tracer if python_tracer else self.without).pop(0)


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many calls a window of a second holds, which take 0.35 µs each, and how many
    other events, 0.45 µs each.
    """
    found = {"number": 100_000, "events": 0}
    monkeypatch.setattr("tfadvisor.act.record.conduct._traces", lambda folder: [folder])
    monkeypatch.setattr(
        "tfadvisor.act.record.conduct._host_events",
        lambda _file: (found["number"], found["events"]),
    )
    return found


def fully(windows: Windows, look: Window) -> tuple[float, bool, float | None]:
    """(step of the chosen window, whether it has the Python tracer, the cost)."""
    found = record_fully(windows, look, Wanted(None, 20))
    assert found.chosen.pace is not None
    return found.chosen.pace.median_ms, found.chosen.python_tracer, found.cost


def test_the_python_tracer_stays_where_it_costs_little() -> None:
    """100,000 calls of 0.35 µs take 35 ms beside 965."""
    windows = Windows([window(10.5, python_tracer=True)], [])

    assert fully(windows, window(10.0)) == (10.5, True, pytest.approx(0.035 / 0.965))
    assert windows.asked == "P"


def test_the_pace_of_a_window_says_nothing(calls: dict[str, int]) -> None:
    """Other programs on the machine move it by more."""
    assert fully(Windows([window(20.0, python_tracer=True)], []), window(10.0))[1]

    calls["number"] = 300_000

    assert fully(Windows([window(9.0, python_tracer=True)], []), window(10.0)) == (
        10.0,
        False,
        pytest.approx(0.105 / 0.895),
    )


def test_calls_get_what_other_events_leave(calls: dict[str, int]) -> None:
    """50,000 events take 22.5 ms beside 977.5: 2.3%, which leave 2.7% of the 5%: 26.3
    ms beside 973.7, of 75,000 calls.
    """
    calls["events"] = 50_000
    calls["number"] = 75_000

    assert fully(Windows([window(10.5, python_tracer=True)], []), window(10.0))[:2] == (
        10.5,
        True,
    )

    calls["number"] = 76_000

    assert fully(Windows([window(10.5, python_tracer=True)], []), window(10.0))[:2] == (
        10.0,
        False,
    )


@pytest.mark.parametrize(
    ("followed", "cost"),
    [(50_000, 0.055 / 0.945), (500_000, 1.0), (1_000, 1.1e-3 / 0.9989)],
)
def test_our_own_tracer_costs_each_call_that_it_follows(
    calls: dict[str, int], followed: int, cost: float
) -> None:
    """1.1 µs each, of a window of a second, however few of them it writes down; never more than the rest of the window."""
    calls["number"] = 0

    windows = Windows([window(30.0, python_tracer=True, followed=followed)], [])

    assert fully(windows, window(10.0))[2] == pytest.approx(cost)


def second(calls: dict[str, int], number: int) -> tuple[float | None, bool]:
    """(step of the second window, whether findings are taken from it)."""
    calls["number"] = number
    found = record_fully(
        Windows([window(15.0, python_tracer=True)], []), window(10.0), Wanted(None, 20)
    )
    return (
        found.second.pace.median_ms if found.second else None,
        found.second_tells_findings,
    )


def test_a_tracer_that_costs_too_much_leaves_a_second_window(
    calls: dict[str, int],
) -> None:
    """0.35 µs a call, of a second: 0.035 beside 0.965, 0.49 beside 0.51, and 0.525, more than half."""
    assert second(calls, 100_000) == (None, True)
    assert second(calls, 1_400_000) == (15.0, True)
    assert second(calls, 1_500_000) == (15.0, False)


def test_a_short_look_is_followed_by_a_window_without_the_tracer_too(
    calls: dict[str, int],
) -> None:
    calls["number"] = 300_000
    windows = Windows([window(15.0, python_tracer=True)], [window(11.0)])

    assert fully(windows, window(10.0, count=19))[:2] == (11.0, False)
    assert windows.asked == "P-"


def test_without_a_window_that_holds_steps_the_look_is_all_there_is() -> None:
    windows = Windows([Refused("busy")], [])

    assert fully(windows, window(10.0)) == (10.0, False, None)


def test_a_part_of_the_step_in_a_window_with_calls_is_not_the_step() -> None:
    """Calls write down so much that the window holds no three rounds of 84 ms; a single
    dispatch repeats in it.
    """
    windows = Windows(
        [window(0.026, python_tracer=True, count=118)], [window(82.0, count=5)]
    )

    assert fully(windows, window(84.0, count=5)) == (82.0, False, None)
    assert windows.asked == "P-"


def test_a_window_holds_the_steps_whole() -> None:
    assert window_seconds(window(100.0), Wanted(None, 20)) == pytest.approx(2.15)
    assert window_seconds(window(0.01), Wanted(None, 20)) == 1.0


def plainly(windows: Windows, look: Window) -> tuple[float, int]:
    """(when the chosen window was opened, how many steps it holds)."""
    found = record_plainly(windows, look, Wanted(None, 20, python_tracer=False))
    assert found.chosen.pace is not None
    assert (found.with_lines, found.cost, found.before) == (None, None, found.chosen)
    return found.chosen.opened, found.chosen.pace.count


def test_a_look_with_all_steps_is_the_recording() -> None:
    windows = Windows([], [])

    assert plainly(windows, window(10.0, count=20)) == (0.0, 20)
    assert windows.asked == ""


def test_a_short_look_is_followed_by_a_window_without_the_tracer() -> None:
    windows = Windows([], [window(10.0, count=21, opened=5.0)])

    assert plainly(windows, window(10.0, count=4)) == (5.0, 21)
    assert windows.asked == "-"


def test_a_window_that_fails_leaves_the_look() -> None:
    assert plainly(Windows([], [Refused("busy")]), window(10.0, count=4)) == (0.0, 4)


@pytest.fixture
def looks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., list[float]]:
    """Looks at a program of which every look shows steps of 100 ms that compile;
    seconds of each window that was opened.
    """

    def conducted(
        ready_seconds: float, steps: int, lengths: Sequence[float] = (100.0,)
    ) -> list[float]:
        asked: list[float] = []

        def record(seconds: float, *, python_tracer: bool) -> Window:
            asked.append(seconds)
            return window(
                lengths[len(asked) % len(lengths)],
                count=5,
                compiles=True,
                folder=tmp_path,
            )

        monkeypatch.setattr("tfadvisor.act.record.conduct._recorder", lambda *_: record)
        monkeypatch.setattr(
            "tfadvisor.act.record.conduct._wait_until_ready",
            lambda *_: Ready((), ready_seconds),
        )
        board = SimpleNamespace(processes=list, inside="")
        found = conduct(
            board, None, Wanted(None, steps, python_tracer=False), Options()
        )  # type: ignore[arg-type]
        assert isinstance(found, Recorded)
        return asked

    return conducted


def test_steps_that_always_compile_are_believed_in_the_third_look(
    looks: Callable[..., list[float]],
) -> None:
    """Twenty of them: 21.5 times 100 ms."""
    assert looks(0.0, 20) == pytest.approx([0.2, 0.4, 0.8, 2.15])


def test_where_nothing_but_compiling_was_seen_in_the_second(
    looks: Callable[..., list[float]],
) -> None:
    """Both hold several compilations; then eight steps are enough: 9.5 times 100 ms,
    for which the shortest window is enough.
    """
    assert looks(4.0, 20) == pytest.approx([4.0, 4.0, 1.0])


def test_looks_at_something_else_each_time_are_no_steps(
    looks: Callable[..., list[float]],
) -> None:
    """Parts of the start compile as well: 100 ms, then 200, then 100 and so on, until
    there are no more looks.
    """
    assert len(looks(4.0, 20, lengths=(100.0, 200.0))) == 14


def loop(first: int, last: int, function: str = "main") -> Loop:
    return Loop(
        "train.py",
        first,
        function,
        "",
        prepares=False,
        median_ms=100.0,
        lines=(first, last),
    )


@pytest.mark.parametrize(
    ("seen", "windows"),
    [
        ([loop(5, 7), loop(5, 9)], 1),  # the same
        (
            [loop(5, 7), loop(9, 12), loop(9, 12), loop(10, 12)],
            2,
        ),  # what checks before training was over
        (
            [loop(5, 7), loop(9, 12), loop(9, 12), loop(5, 7)],
            2,
        ),  # training and validation, again and again
        ([loop(5, 7), None], 1),  # the program has ended
    ],
)
def test_the_loop_that_goes_on_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    seen: list[Loop | None],
    windows: int,
) -> None:
    """Loops of train.py by their lines, before and after each recording."""
    loops, asked = iter(seen), []

    def record(seconds: float, *, python_tracer: bool) -> Window:
        asked.append(seconds)
        return window(100.0, count=20, folder=tmp_path)

    monkeypatch.setattr("tfadvisor.act.record.conduct._recorder", lambda *_: record)
    monkeypatch.setattr(
        "tfadvisor.act.record.conduct._wait_until_ready", lambda *_: Ready(())
    )
    monkeypatch.setattr(
        "tfadvisor.act.record.conduct._loop", lambda *_, **__: next(loops)
    )
    board = SimpleNamespace(processes=list, inside="")

    found = conduct(board, None, Wanted(None, 20, python_tracer=False), Options())  # type: ignore[arg-type]

    assert isinstance(found, Recorded)
    assert (len(asked), next(loops, "none left")) == (windows, "none left")


@pytest.mark.parametrize(
    ("steps", "counted", "chosen"), [(40, 300, 40), (12, 300, 300), (12, 12, 12)]
)
def test_a_look_in_which_rounds_were_counted_gives_way_to_a_window_with_enough_steps(
    steps: int, counted: int, chosen: int
) -> None:
    """Counting slows Python. 20 steps are wanted; the program ended early where the
    window holds 12.
    """
    look = replace(window(2.0, count=counted), loop=loop(5, 7))

    assert (
        plainly(Windows([], [window(2.0, count=steps, opened=5.0)]), look)[1] == chosen
    )


def test_what_was_asked_for_may_take_little_of_a_round(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`--step clip`, which takes 2 ms of a round of 100: one look, then the
    recording.
    """
    asked = []

    def record(seconds: float, *, python_tracer: bool) -> Window:
        asked.append(seconds)
        one = window(2.0, count=10 + len(asked), folder=tmp_path)
        return replace(one, pace=replace(one.pace, about="clip, as --step says"))

    monkeypatch.setattr("tfadvisor.act.record.conduct._recorder", lambda *_: record)
    monkeypatch.setattr(
        "tfadvisor.act.record.conduct._wait_until_ready", lambda *_: Ready(())
    )
    monkeypatch.setattr(
        "tfadvisor.act.record.conduct._loop", lambda *_, **__: loop(5, 7)
    )
    board = SimpleNamespace(processes=list, inside="")

    conduct(board, None, Wanted(None, 20, "clip", python_tracer=False), Options())  # type: ignore[arg-type]

    assert asked == [0.5, 1.0]


@pytest.mark.parametrize(
    ("shown", "kept", "windows"),
    [
        (
            [2.0, 95.0, 100.0],
            100.0,
            [0.5, 1.0, 2.05],
        ),  # too few rounds in the first look
        ([2.0, 2.0, 2.0, 3.0], 3.0, [0.5, 1.0, 2.0, 1.0]),  # many steps in each round
        ([60.0, 100.0], 100.0, [0.5, 1.29]),
    ],
)
def test_what_takes_little_of_a_round_is_looked_at_longer(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    shown: list[float],
    kept: float,
    windows: list[float],
) -> None:
    """A round of the loop takes 100 ms; shown: the step of each window, ms. 20 steps
    are wanted.
    """
    steps, asked = iter(shown), []

    def record(seconds: float, *, python_tracer: bool) -> Window:
        asked.append(seconds)
        return window(next(steps), count=10 + len(asked), folder=tmp_path)

    monkeypatch.setattr("tfadvisor.act.record.conduct._recorder", lambda *_: record)
    monkeypatch.setattr(
        "tfadvisor.act.record.conduct._wait_until_ready", lambda *_: Ready(())
    )
    monkeypatch.setattr(
        "tfadvisor.act.record.conduct._loop", lambda *_, **__: loop(5, 7)
    )
    board = SimpleNamespace(processes=list, inside="")

    found = conduct(board, None, Wanted(None, 20, python_tracer=False), Options())  # type: ignore[arg-type]

    assert isinstance(found, Recorded)
    assert found.chosen.pace is not None
    assert found.chosen.pace.median_ms == kept
    assert asked == pytest.approx(windows, rel=0.01)


def test_a_program_that_is_in_one_call_is_told_to_make_it_shorter() -> None:
    """`--after` and `--steps` would not help."""
    found = Nothing([], None, gave_up=True, inside="train.py:19")

    said = str(gave_up(["python", "train.py"], found, 65.0))

    assert (
        "nothing that repeats was found in 65 s: it is in one call, train.py:19, and "
        "goes on unrecorded." in said
    )
    assert "Let that call do fewer steps" in said
    assert "--after" not in said
