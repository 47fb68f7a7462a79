"""What Python of the loop makes for its step, by samples and by the program's lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gpu_step import dispatched_steps
from support.stacks import sampled

from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics import Metrics, Settings

PROGRAM = """\
import jax
import numpy as np
step = jax.jit(lambda state, batch: state)
def augment(x):
    return np.roll(x, 3)
def main(state, x):
    for i in range(9):
        batch = augment(x[i])
        state = step(state, batch)
        print(float(state))
"""
MAIN = "train.py:<module>:12 train.py:main"
NUMPY = "/venv/lib/python3.11/site-packages/numpy/numeric.py"
ARRAY = "/venv/lib/python3.11/site-packages/jax/_src/array.py"


def measured(folder: Path, busy_us: int, augment: str) -> Metrics:
    """augment: what the thread is in for 3 of 10 samples of each round; 6 wait for the
    value, 1 is in the call of the step.
    """
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    source = ProgramSource(folder)
    turn = [
        (f"{MAIN}:8 {augment}", 3),
        (f"{MAIN}:9", 1),
        (f"{MAIN}:10 {ARRAY}:_value:637", 6),
    ]
    account = account_of(sampled(40 * turn), 100.0, on_host=source.runs_on_host)
    settings = Settings(source=source, account=account)
    return dispatched_steps(busy_us).measure(settings)


ROLLS = f"train.py:augment:5 {NUMPY}:roll:3"


def test_what_makes_the_batch_counts_while_the_devices_wait(tmp_path: Path) -> None:
    """The GPU works for 4 of 10 ms, so that 6 are Python. The steps are known from the
    first wait on, behind 4 of the 400 samples: 39 times 3 of 396 make a batch. The rest
    remains Python of the loop.
    """
    found = measured(tmp_path, 4_000, ROLLS)

    assert found.value("argument_python_fraction") == pytest.approx(117 / 396)
    assert found.value("loop_python_fraction") == pytest.approx(0.6 - 117 / 396)
    assert found.fact("argument_line") == "main (train.py:8)"


def test_it_is_no_more_than_the_devices_wait(tmp_path: Path) -> None:
    """The GPU works for 9 of 10 ms: while most of the batch is made, too."""
    found = measured(tmp_path, 9_000, ROLLS)

    assert found.value("argument_python_fraction") == pytest.approx(0.1)
    assert found.value("loop_python_fraction") == pytest.approx(0.0)


def test_a_line_that_waits_for_a_value_makes_no_batch(tmp_path: Path) -> None:
    """augment reads an array of the device."""
    found = measured(tmp_path, 4_000, f"{ROLLS} {ARRAY}:__array__:419")

    assert found.value("argument_python_fraction") is None
    assert found.value("loop_python_fraction") == pytest.approx(0.6)


def test_without_samples_or_source_nothing_is_said(tmp_path: Path) -> None:
    found = dispatched_steps(4_000).measure(Settings(source=ProgramSource(tmp_path)))

    assert found["argument_python_fraction"].reason.startswith("samples of the run")
