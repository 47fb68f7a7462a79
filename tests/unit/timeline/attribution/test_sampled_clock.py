"""Ticks of a sampler are moved to where the lines they name agree with what the trace
has. Steps of 11 ms, each of which dispatches in its first 3.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import trace

from tfadvisor.arrays import Int64Array
from tfadvisor.timeline.attribution.sampled_clock import aligned
from tfadvisor.timeline.attribution.spent import Sampled
from tfadvisor.timeline.host.threads import Threads, host_threads

MS = 1_000_000_000
STEPS, PERIOD, DISPATCH = 100, 11, 3
LOADS, STEP_LINE = 0, 1
PLACES = (("train.py", 7, "load", ""), ("train.py", 9, "main", ""))


def recorded() -> Threads:
    builder = trace()
    for step in range(STEPS):
        at = 1000 * PERIOD * step
        builder.call("PjitFunction(train_step)", at, at + 1000 * DISPATCH)
    return host_threads(builder.decode())


def ticks(late_ms: int, count: int = 100) -> Sampled:
    """Every 10.3 ms, with the line on which the program truly is, and a time that is
    later by so much.
    """
    true_ms = 15 + 10.3 * np.arange(count)
    is_step = true_ms % PERIOD < DISPATCH
    at: Int64Array = np.array((true_ms + late_ms) * MS, np.int64)
    return Sampled(at, np.where(is_step, STEP_LINE, LOADS), PLACES)


def moved_ms(seen: Sampled) -> set[float]:
    threads = recorded()
    found = aligned(seen, threads, threads.threads[0])
    return set(((found.at - seen.at) / MS).tolist())


@pytest.mark.parametrize("late", [-4, 4])
def test_a_clock_that_is_late_or_early_is_moved_back(late: int) -> None:
    """The dispatch's ends are met within the 1 ms that a tick may be from them."""
    (moved,) = moved_ms(ticks(late))

    assert moved == pytest.approx(-late, abs=1)


def test_a_clock_that_agrees_stays() -> None:
    assert moved_ms(ticks(0)) == {0}


def test_few_ticks_move_nothing() -> None:
    """Thirty-nine, since the outer ones may leave the trace as they are moved."""
    assert moved_ms(ticks(4, count=39)) == {0}


def test_lines_that_have_nothing_to_do_with_dispatches_move_nothing() -> None:
    seen = ticks(4)
    any_line = np.arange(len(seen.at)) % 2
    assert moved_ms(Sampled(seen.at, any_line, PLACES)) == {0}
