"""The program's lines that make a call which is known to cost much, and their share."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.watched_steps import ARRAY, watched_steps

from tfadvisor.metrics import Metrics

PROGRAM = """\
import jax
import numpy as np
step = jax.jit(lambda state, batch: state)
def rows_of(data):
    rows = np.random.choice(len(data), 9, replace=False)
    return data[rows]
def main(state, data):
    for i in range(9):
        batch = rows_of(data)
        state = step(state, batch)
        print(float(state))
"""
MAIN = "train.py:<module>:12 train.py:main"


def measured(folder: Path, busy_us: int, line: int) -> Metrics:
    """In 4 of 10 samples the thread is on a line of rows_of, in 6 it waits for a value."""
    turn = [
        (f"{MAIN}:9 train.py:rows_of:{line}", 3),
        (f"{MAIN}:10", 1),
        (f"{MAIN}:11 {ARRAY}:_value:637", 6),
    ]
    return watched_steps(folder, PROGRAM, turn, busy_us)


def test_the_line_the_call_and_what_costs_less(tmp_path: Path) -> None:
    """The steps are known from the first wait on, behind 4 of the 400 samples: 117 of
    396 are on that line.
    """
    found = measured(tmp_path, 4_000, 5)

    assert found.value("costly_call_fraction") == pytest.approx(117 / 396)
    assert found.fact("costly_call") == "np.random.choice"
    assert found.fact("costly_call_line") == "rows_of (train.py:5)"
    assert "orders all elements" in found.fact("costly_call_does")
    assert "shuffle=False" in found.fact("costly_call_after")


def test_it_is_no_more_than_the_devices_wait(tmp_path: Path) -> None:
    found = measured(tmp_path, 8_500, 5)

    assert found.value("costly_call_fraction") == pytest.approx(0.15)


def test_a_line_that_makes_no_such_call_is_none(tmp_path: Path) -> None:
    found = measured(tmp_path, 4_000, 6)

    assert found.value("costly_call_fraction") is None
    reason = found["costly_call_fraction"].reason
    assert reason == "no line that takes a tenth of the step makes a call known here"


def test_below_a_tenth_nothing_is_said(tmp_path: Path) -> None:
    found = measured(tmp_path, 9_200, 5)

    assert found.value("costly_call_fraction") is None
