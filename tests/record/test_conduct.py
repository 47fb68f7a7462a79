"""Which window the report is about, with windows made up. Times of steps in ms."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tfadvisor.record.conduct import Wanted, record_fully, record_plainly, window_seconds
from tfadvisor.record.pace import Pace, tracer_cost
from tfadvisor.record.window import Refused, Window


def window(
    step_ms: float, *, python_tracer: bool = False, count: int = 20, opened: float = 0.0, followed: int | None = None
) -> Window:
    pace = Pace(count, step_ms, step_ms, compiles=False)
    report = SimpleNamespace(findings=())
    return Window(Path("w"), python_tracer, opened, opened + 1, report=report, pace=pace, followed=followed)


class Windows:
    """Hands out windows in turn; lists what was asked for."""

    def __init__(self, with_tracer: list[Window | Refused], without: list[Window | Refused]) -> None:
        self.with_tracer, self.without, self.asked = with_tracer, without, ""

    def __call__(self, seconds: float, *, python_tracer: bool) -> Window | Refused:
        self.asked += "P" if python_tracer else "-"
        return (self.with_tracer if python_tracer else self.without).pop(0)


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many calls a window of a second holds, which take 0.1 to 0.3 µs each, and how many other events, 0.45 µs each."""
    found = {"number": 400_000, "events": 0}
    monkeypatch.setattr("tfadvisor.record.cost._traces", lambda folder: [folder])
    monkeypatch.setattr("tfadvisor.record.cost._host_events", lambda _file: (found["number"], found["events"]))
    return found


def fully(windows: Windows, look: Window) -> tuple[float, bool, float | None]:
    """(step of the chosen window, whether it has the Python tracer, the cost)."""
    found = record_fully(windows, look, Wanted(None, 20), ended=lambda: False)
    assert found.chosen.pace is not None
    return found.chosen.pace.median_ms, found.chosen.python_tracer, found.cost


def test_the_python_tracer_stays_where_it_costs_little() -> None:
    windows = Windows([window(10.5, python_tracer=True)], [])

    assert fully(windows, window(10.0)) == (10.5, True, pytest.approx(0.05))
    assert windows.asked == "P"


def test_a_cost_is_measured_again_before_it_is_believed() -> None:
    windows = Windows([window(12.0, python_tracer=True), window(10.2, python_tracer=True)], [window(10.0)])

    assert fully(windows, window(10.0)) == (10.2, True, pytest.approx(0.04 / 0.96))
    assert windows.asked == "P-P"


def test_a_tracer_that_costs_too_much_is_left_out(calls: dict[str, int]) -> None:
    calls["number"] = 2_000_000

    windows = Windows([window(15.0, python_tracer=True)] * 3, [window(10.0, opened=one) for one in (1, 2, 3)])

    assert fully(windows, window(10.0)) == (10.0, False, pytest.approx(0.5))
    assert windows.asked == "P-P-P-"


def test_a_cost_is_no_less_than_the_calls_take(calls: dict[str, int]) -> None:
    """A window that seems quicker with the tracer was one in which the machine was."""
    calls["number"] = 2_000_000  # 0.2 s of a second at least

    windows = Windows([window(9.0, python_tracer=True)] * 3, [window(10.0, opened=one) for one in (1, 2, 3)])

    assert fully(windows, window(10.0)) == (10.0, False, pytest.approx(0.2 / 0.8))


def test_a_cost_is_no_more_than_the_traced_calls_can_take(calls: dict[str, int]) -> None:
    calls["number"] = 100_000  # 0.03 s of a second

    windows = Windows([window(15.0, python_tracer=True)], [])

    assert fully(windows, window(10.0)) == (15.0, True, pytest.approx(0.03 / 0.97))


def test_calls_get_what_other_events_leave(calls: dict[str, int]) -> None:
    """100,000 events take 45 ms beside 955: 4.7%, which leave 5.3% of the 10%."""
    calls["events"] = 100_000

    assert fully(Windows([window(10.5, python_tracer=True)], []), window(10.0))[:2] == (10.5, True)

    windows = Windows([window(10.6, python_tracer=True)] * 3, [window(10.0, opened=one) for one in (1, 2, 3)])

    assert fully(windows, window(10.0)) == (10.0, False, pytest.approx(0.06))


@pytest.mark.parametrize(
    ("followed", "cost"), [(100_000, 0.09 / 0.91), (500_000, 0.45 / 0.55), (5_000_000, 1.0), (1_000, 9e-4 / 0.9991)]
)
def test_our_own_tracer_costs_each_call_that_it_follows(calls: dict[str, int], followed: int, cost: float) -> None:
    """0.9 µs each at most, of a window of a second, however few of them it writes down. Measured: half of a step again."""
    calls["number"] = 0

    with_tracer: list[Window | Refused] = [window(30.0, python_tracer=True, followed=followed)] * 3
    windows = Windows(with_tracer, [window(10.0, opened=one) for one in (1, 2, 3)])

    assert fully(windows, window(10.0))[2] == pytest.approx(cost)


def test_without_a_window_that_holds_steps_the_look_is_all_there_is() -> None:
    windows = Windows([Refused("busy")] * 3, [Refused("busy")] * 3)

    assert fully(windows, window(10.0)) == (10.0, False, None)


def test_a_window_holds_the_steps_whole() -> None:
    assert window_seconds(window(100.0), Wanted(None, 20)) == pytest.approx(2.15)
    assert window_seconds(window(0.01), Wanted(None, 20)) == 0.4


def test_a_quicker_window_with_the_tracer_costs_nothing() -> None:
    slow, quick = Pace(9, 10.0, 10.0, compiles=False), Pace(9, 9.0, 9.0, compiles=False)

    assert tracer_cost([slow], [quick]) == 0.0
    assert tracer_cost([quick, slow], [slow]) == pytest.approx(1 / 9)


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
