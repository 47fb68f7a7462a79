"""Which window the report is about, with windows made up. Times of steps in ms."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from tfadvisor.act.record.choosing import (
    RecordRequest,
    record_steps,
    window_seconds,
)
from tfadvisor.act.record.pace import Pace
from tfadvisor.act.record.window import NoWindow, RecordedWindow
from tfadvisor.timeline.host.event_counts import EventCounts


def window(
    step_ms: float,
    *,
    python_tracer: bool = False,
    count: int = 20,
    opened: float = 0.0,
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
    found = record_steps(windows, look, RecordRequest(None, 20))
    assert found.chosen.pace is not None
    return found.chosen.pace.median_ms, found.chosen.python_tracer, found.cost


def test_the_python_tracer_stays_where_it_costs_little() -> None:
    """100,000 calls of 0.35 µs take 35 ms beside 965, and steps are 5% longer."""
    windows = Windows([window(10.5, python_tracer=True)], [])

    assert fully(windows, window(10.0)) == (10.5, True, pytest.approx(0.05))
    assert windows.asked == "P"


def test_steps_that_are_longer_with_calls_are_recorded_without() -> None:
    """20 ms against 10: whatever the number of calls says. 10.9 against 10 is less than
    a tenth.
    """
    slow = window(20.0, python_tracer=True)

    assert fully(Windows([slow], []), window(10.0)) == (10.0, False, 1.0)
    assert fully(Windows([window(10.9, python_tracer=True)], []), window(10.0))[1]


def test_a_machine_that_was_slow_for_a_while_is_no_cost_of_calls() -> None:
    """10 ms before, 13 with calls, and 12.5 without them afterwards: 4% longer."""
    windows = Windows([window(13.0, python_tracer=True)], [window(12.5)])

    found = record_steps(windows, window(10.0, count=4), RecordRequest(None, 20))

    assert found.chosen.python_tracer
    assert found.cost == pytest.approx(0.04)
    assert windows.asked == "P-"


@pytest.mark.parametrize(("calls", "with_calls"), [(75_000, True), (76_000, False)])
def test_calls_get_what_other_events_leave(calls: int, with_calls: bool) -> None:
    """50,000 events take 22.5 ms beside 977.5: 2.3%, which leave 2.7% of the 5%: 26.3
    ms beside 973.7, of 75,000 calls.
    """
    full = window(10.5, python_tracer=True, calls=calls)

    assert fully(Windows([full], []), window(10.0, others=50_000))[1] is with_calls


def test_many_calls_cost_too_much_whatever_the_steps_say() -> None:
    """300,000 calls take 105 ms beside 895."""
    quick = window(9.0, python_tracer=True, calls=300_000)

    assert fully(Windows([quick], []), window(10.0)) == (
        10.0,
        False,
        pytest.approx(0.105 / 0.895),
    )


def test_a_framework_without_calls_gives_its_only_window() -> None:
    """It was asked for calls, and has none."""
    windows = Windows([window(11.0, opened=5.0)], [])

    assert fully(windows, window(10.0)) == (11.0, False, None)
    assert windows.asked == "P"


def test_a_look_of_a_moment_is_no_recording_whatever_it_holds() -> None:
    """Forty steps of 5 ms in 0.2 s."""
    look = replace(window(5.0, count=40), closed=0.2)
    windows = Windows([], [window(5.0, count=200, opened=5.0)])

    assert plainly(windows, look) == (5.0, 200)
    assert windows.asked == "-"


def test_a_look_of_a_moment_is_all_that_some_programs_bear() -> None:
    look = replace(window(5.0, count=40), closed=0.2, shortened=True)

    assert plainly(Windows([], []), look) == (0.0, 40)


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
    assert window_seconds(100.0, RecordRequest(None, 20)) == pytest.approx(2.15)
    assert window_seconds(0.01, RecordRequest(None, 20)) == 1.0


def plainly(windows: Windows, look: RecordedWindow) -> tuple[float, int]:
    """(when the chosen window was opened, how many steps it holds)."""
    found = record_steps(windows, look, RecordRequest(None, 20, python_tracer=False))
    assert found.chosen.pace is not None
    assert (found.cost, found.before) == (None, look)
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
