"""The program's lines that make a call which is known to cost much, and their share."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stacks import sampled
from support.trace_builder import trace
from support.watched_steps import ARRAY, watched_steps

from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics import Metrics, Settings

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


def test_a_line_of_a_pipelines_own_threads_is_no_python_of_the_loop(
    tmp_path: Path,
) -> None:
    """Four steps of 1,000 µs wait 400 for input; 3 of 4 samples of the pipeline's
    Python are on that line: 30% of the step, none of it on the thread that dispatches.
    """
    script = "tensorflow/ops/script_ops.py:__call__:269"
    beside = [
        (f"{script} train.py:rows_of:5", 60),
        (f"{script} train.py:rows_of:6", 20),
    ]
    turn = [(f"{MAIN}:10", 3), (f"{MAIN}:11", 2)]
    (tmp_path / "train.py").write_text(PROGRAM)
    source = ProgramSource(tmp_path)
    account = account_of(sampled(40 * turn, beside=beside), 50.0)
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.step(at, at + 1000).call("IteratorGetNext", at, at + 400)
        builder.busy("GPU:0", (at + 400, at + 1000))
    found = builder.measure(Settings(source=source, account=account))

    assert found.value("costly_call_fraction") == pytest.approx(0.75 * 0.4)
    assert found.fact("costly_call_line") == "rows_of (train.py:5)"
    assert found.value("costly_python_share") is None
    reason = found["costly_python_share"].reason
    assert reason == "train.py:5 is no Python of the loop"
