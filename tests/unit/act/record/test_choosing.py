"""Which window the report is about, with windows made up. Times of steps in ms."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tfadvisor.act.record.choosing import (
    RecordRequest,
    record_fully,
    record_plainly,
    window_seconds,
)
from tfadvisor.act.record.pace import Pace
from tfadvisor.act.record.rounds import ProgramLoop
from tfadvisor.act.record.window import NoWindow, RecordedWindow
from tfadvisor.timeline.host.event_counts import EventCounts


def window(
    step_ms: float,
    *,
    python_tracer: bool = False,
    count: int = 20,
    opened: float = 0.0,
    followed: int | None = None,
    calls: int = 100_000,
    others: int = 0,
) -> RecordedWindow:
    """Of a second, with so many calls of Python and other events of the host."""
    read = SimpleNamespace(counts=(EventCounts(calls + others, calls, others),))
    return RecordedWindow(
        Path("w"),
        python_tracer,
        opened,
        opened + 1,
        read=read,  # type: ignore[arg-type]
        pace=Pace(count, step_ms, compiles=False),
        followed=followed,
    )


class Windows:
    """Hands out windows in turn; lists what was asked for."""

    def __init__(
        self,
        with_tracer: list[RecordedWindow | NoWindow],
        without: list[RecordedWindow | NoWindow],
    ) -> None:
        self.with_tracer, self.without, self.asked = with_tracer, without, ""

    def __call__(
        self, seconds: float, *, python_tracer: bool
    ) -> RecordedWindow | NoWindow:
        self.asked += "P" if python_tracer else "-"
        return (self.with_tracer if python_tracer else self.without).pop(0)


def fully(windows: Windows, look: RecordedWindow) -> tuple[float, bool, float | None]:
    """(step of the chosen window, whether it has the Python tracer, the cost)."""
    found = record_fully(windows, look, RecordRequest(None, 20))
    assert found.chosen.pace is not None
    return found.chosen.pace.median_ms, found.chosen.python_tracer, found.cost


def test_the_python_tracer_stays_where_it_costs_little() -> None:
    """100,000 calls of 0.35 µs take 35 ms beside 965."""
    windows = Windows([window(10.5, python_tracer=True)], [])

    assert fully(windows, window(10.0)) == (10.5, True, pytest.approx(0.035 / 0.965))
    assert windows.asked == "P"


def test_the_pace_of_a_window_says_nothing() -> None:
    """Other programs on the machine move it by more."""
    slow = window(20.0, python_tracer=True)
    quick = window(9.0, python_tracer=True, calls=300_000)

    assert fully(Windows([slow], []), window(10.0))[1]
    assert fully(Windows([quick], []), window(10.0)) == (
        10.0,
        False,
        pytest.approx(0.105 / 0.895),
    )


@pytest.mark.parametrize(("calls", "with_calls"), [(75_000, True), (76_000, False)])
def test_calls_get_what_other_events_leave(calls: int, with_calls: bool) -> None:
    """50,000 events take 22.5 ms beside 977.5: 2.3%, which leave 2.7% of the 5%: 26.3
    ms beside 973.7, of 75,000 calls.
    """
    full = window(10.5, python_tracer=True, calls=calls)

    assert fully(Windows([full], []), window(10.0, others=50_000))[1] is with_calls


@pytest.mark.parametrize(
    ("followed", "cost"),
    [(50_000, 0.055 / 0.945), (500_000, 1.0), (1_000, 1.1e-3 / 0.9989)],
)
def test_our_own_tracer_costs_each_call_that_it_follows(
    followed: int, cost: float
) -> None:
    """1.1 µs each, of a window of a second, however few of them it writes down; never
    more than the rest of the window.
    """
    full = window(30.0, python_tracer=True, followed=followed, calls=0)

    assert fully(Windows([full], []), window(10.0))[2] == pytest.approx(cost)


@pytest.mark.parametrize(
    ("calls", "step_ms", "tells_findings"),
    [(100_000, None, True), (1_400_000, 15.0, True), (1_500_000, 15.0, False)],
)
def test_a_tracer_that_costs_too_much_leaves_a_second_window(
    calls: int, step_ms: float | None, tells_findings: bool
) -> None:
    """0.35 µs a call, of a second: 0.035 beside 0.965, 0.49 beside 0.51, and 0.525,
    more than half.
    """
    windows = Windows([window(15.0, python_tracer=True, calls=calls)], [])

    found = record_fully(windows, window(10.0), RecordRequest(None, 20))

    second = found.second.pace if found.second is not None else None
    assert (second.median_ms if second is not None else None) == step_ms
    assert found.second_tells_findings is tells_findings


def test_a_short_look_is_followed_by_a_window_without_the_tracer_too() -> None:
    full = window(15.0, python_tracer=True, calls=300_000)
    windows = Windows([full], [window(11.0)])

    assert fully(windows, window(10.0, count=19))[:2] == (11.0, False)
    assert windows.asked == "P-"


def test_without_a_window_that_holds_steps_the_look_is_all_there_is() -> None:
    windows = Windows([NoWindow("busy")], [])

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
    assert window_seconds(window(100.0), RecordRequest(None, 20)) == pytest.approx(2.15)
    assert window_seconds(window(0.01), RecordRequest(None, 20)) == 1.0


def plainly(windows: Windows, look: RecordedWindow) -> tuple[float, int]:
    """(when the chosen window was opened, how many steps it holds)."""
    found = record_plainly(windows, look, RecordRequest(None, 20, python_tracer=False))
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
    assert plainly(Windows([], [NoWindow("busy")]), window(10.0, count=4)) == (0.0, 4)


def loop(first: int, last: int, function: str = "main") -> ProgramLoop:
    return ProgramLoop(
        "train.py",
        first,
        function,
        "",
        prepares=False,
        median_ms=100.0,
        lines=(first, last),
    )


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
