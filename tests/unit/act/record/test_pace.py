"""What a window says about the program's steps, which are made up."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tfadvisor.act.record.pace import Compiling, Pace, pace_of


def steps(*compile_shares: float, source: str = "marker") -> SimpleNamespace:
    """One of 10 ms for each share of it that compiles."""
    each = [SimpleNamespace(breakdown={"compile": share}) for share in compile_shares]
    return SimpleNamespace(
        about="",
        source=source,
        time_ms=SimpleNamespace(median=10.0),
        each=each,
        count=len(each),
    )


def test_steps_that_repeat_and_do_not_compile_are_steady() -> None:
    assert pace_of(steps(0.0, 0.04, 0.02)) == Pace(3, 10.0, compiles=False)
    assert Pace(3, 10.0, compiles=False).steady
    assert not Pace(2, 10.0, compiles=False).steady
    assert not Pace(3, 10.0, compiles=True).steady
    assert Pace(3, 10.0, compiles=True).repeats


def test_steps_that_compile_by_the_trace_or_by_what_the_process_told() -> None:
    """6% in the mean of the trace; 6% of the window in the process."""
    assert pace_of(steps(0.18, 0.0, 0.0)) == Pace(3, 10.0, compiles=True)
    assert pace_of(steps(0.0, 0.0, 0.0), Compiling(0.06, 3)) == Pace(
        3, 10.0, compiles=True
    )


@pytest.mark.parametrize(
    ("share", "count", "found"), [(0.6, 2, False), (0.6, 3, True), (0.5, 0, True)]
)
def test_what_repeats_inside_a_compilation_is_no_step(
    share: float, count: int, found: bool
) -> None:
    """Three that ended may be those of three steps."""
    assert (pace_of(steps(0.0, 0.0, 0.0), Compiling(share, count)) is not None) is found


@pytest.mark.parametrize(("count", "repeats"), [(2, False), (3, True)])
def test_steps_that_compile_by_the_trace_alone_may_be_parts_of_one_tracing(
    count: int, repeats: bool
) -> None:
    """JAX tells of a tracing when it has ended."""
    pace = pace_of(steps(0.9, 0.9, 0.9), Compiling(0.0, count))

    assert pace is not None
    assert pace.repeats is repeats


def test_steps_that_do_not_compile_need_nobody_who_tells() -> None:
    assert pace_of(steps(0.0, 0.0, 0.0), Compiling(0.0, 0)) == Pace(
        3, 10.0, compiles=False
    )


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        (Pace(9, 15.0, True, about="calls of jit_step(77)"), True),
        (
            Pace(
                9,
                10.0,
                True,
                about="calls of jit_step(77), placed where the device ran them: the host "
                "is ahead",
            ),
            True,
        ),
        (Pace(9, 15.1, True, about="calls of jit_step(77)"), False),
        (Pace(9, 10.0, True, about="calls of jit_init(77)"), False),
    ],
)
def test_steps_of_one_loop_are_about_as_long_and_told_by_the_same(
    other: Pace, alike: bool
) -> None:
    one = Pace(3, 10.0, True, about="calls of jit_step(5)")

    assert (one.resembles(other), other.resembles(one)) == (alike, alike)


def test_without_steps_there_is_no_pace() -> None:
    assert pace_of(steps(0.0, 0.0, 0.0, source="whole-trace")) is None
    assert pace_of(steps()) is None
