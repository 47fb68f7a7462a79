"""Functions that give the same in each step, by samples and source."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gpu_step import dispatched_steps
from support.stacks import sampled
from support.watched_steps import ARRAY, watched_steps

from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics import Metrics, Settings

PROGRAM = """\
import jax
import numpy as np
SIZE = 8
step = jax.jit(lambda state, batch: state)
def table():
    rows = np.zeros((SIZE, SIZE))
    return rows + helper(SIZE)
def helper(n):
    return np.eye(n)
def main(state, batches):
    for batch in batches:
        rows = table()
        state = step(state, batch, rows)
        print(float(state))
"""
MAIN = "train.py:<module>:15 train.py:main"
NUMPY = "/venv/lib/python3.11/site-packages/numpy/lib/_twodim_base_impl.py:eye:212"


def measured(folder: Path, busy_us: int, program: str = PROGRAM) -> Metrics:
    """In 4 of 10 samples the thread is below table, in 6 it waits for a value."""
    turn = [
        (f"{MAIN}:12 train.py:table:6", 1),
        (f"{MAIN}:12 train.py:table:7 train.py:helper:9 {NUMPY}", 2),
        (f"{MAIN}:13", 1),
        (f"{MAIN}:14 {ARRAY}:_value:637", 6),
    ]
    return watched_steps(folder, program, turn, busy_us)


def test_its_time_with_all_that_it_calls(tmp_path: Path) -> None:
    """The steps are known from the first wait on, behind 4 of the 400 samples: 117 of
    396 are below table, 78 of them in helper, which it calls.
    """
    found = measured(tmp_path, 4_000)

    assert found.value("same_python_fraction") == pytest.approx(117 / 396)
    assert found.fact("same_python_call") == "table()"
    assert found.fact("same_python_kind") == "bare"
    assert found.fact("same_python_where") == "loop"
    assert found.fact("same_python_head") == "def table():"
    assert found.fact("same_python_line") == "main (train.py:12)"
    assert found.fact("same_python_place") == "table (train.py:7)"


def test_it_is_no_more_than_the_devices_wait(tmp_path: Path) -> None:
    """Of 10 ms the device works for 9."""
    found = measured(tmp_path, 9_000)

    assert found.value("same_python_fraction") == pytest.approx(0.1)
    assert found.value("same_python_share") == pytest.approx(1.0)


def test_of_what_draws_only_the_part_that_stays(tmp_path: Path) -> None:
    """78 of 396 samples lie in helper, which gives the same; table draws."""
    found = measured(tmp_path, 4_000, PROGRAM.replace("np.zeros", "np.random.rand"))

    assert found.fact("same_python_call") == "helper(SIZE)"
    assert found.fact("same_python_kind") == "function"
    assert found.value("same_python_fraction") == pytest.approx(78 / 396)


def test_without_samples_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    settings = Settings(source=ProgramSource(tmp_path))
    found = dispatched_steps(4_000).measure(settings)

    assert found.value("same_python_fraction") is None


ONCE = [(f"{MAIN}:12 train.py:table:6", 100)]
TURN = [(f"{MAIN}:13", 4), (f"{MAIN}:14 {ARRAY}:_value:637", 6)]


def test_what_ran_once_is_not_made_again() -> None:
    """A third of the steps' time in one stretch."""
    found = account_of(sampled([*10 * TURN, *ONCE, *10 * TURN]), 100.0)

    assert found.calls == ()


SCRIPT = "tensorflow/ops/script_ops.py:__call__:269"
ASKS = "tensorflow/data/ops/iterator_ops.py:__next__:826"
FILTERS = "data.py:load:25 data.py:filters:9"


def test_functions_of_a_pipeline_with_the_line_that_calls_them() -> None:
    """Of 100 samples 40 lie in filters, 60 elsewhere in load, which no line calls."""
    beside = 10 * [(f"{SCRIPT} {FILTERS}", 4), (f"{SCRIPT} data.py:load:26", 6)]
    turns = sampled(40 * [(f"{MAIN}:42", 3), (f"{MAIN}:41 {ASKS}", 2)], beside=beside)
    pipeline = account_of(turns, 50.0).pipeline

    assert pipeline is not None
    (call,) = pipeline.calls
    assert (call.what, call.fraction) == ("filters", pytest.approx(0.4))
    assert [place.words for place in call.places] == [
        "filters (data.py:9)",
        "load (data.py:25)",
    ]
