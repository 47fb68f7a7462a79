"""Results that the loop reads in each round, by samples and source."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.watched_steps import ARRAY, watched_steps

from tfadvisor.metrics import Metrics

PROGRAM = """\
import jax
step = jax.jit(lambda state, batch: (state, 0))
def main(state, batches, losses):
    for i, batch in enumerate(batches):
        state, loss = step(state, batch)
        losses.append(float(loss))
"""
MAIN = "train.py:<module>:7 train.py:main"


def measured(folder: Path, busy_us: int, program: str = PROGRAM) -> Metrics:
    """In 4 of 10 samples the thread dispatches, in 6 it waits for a value."""
    turn = [(f"{MAIN}:5", 4), (f"{MAIN}:6 {ARRAY}:_value:637", 6)]
    return watched_steps(folder, program, turn, busy_us)


def test_a_line_on_which_each_round_waits(tmp_path: Path) -> None:
    """Devices work for 1 ms of 10; the thread waits in 6 of 10 samples."""
    found = measured(tmp_path, 1_000)

    assert found.value("result_wait_share") == pytest.approx(0.6, abs=0.01)
    assert found.value("result_read_fraction") == found.value("result_wait_share")
    assert found.fact("result_read") == "float(loss)"
    assert found.fact("result_read_statement") == "losses.append(float(loss))"
    assert found.fact("result_read_place") == "main (train.py:6)"
    assert found.fact("result_kept") == "losses.append(loss)"
    assert found.fact("result_holder") == "losses"


def test_it_is_no_more_than_the_devices_wait(tmp_path: Path) -> None:
    found = measured(tmp_path, 9_000)

    assert found.value("result_read_fraction") == pytest.approx(0.1)


def test_a_value_that_the_loop_asks_for_is_needed(tmp_path: Path) -> None:
    program = PROGRAM + "        if losses[-1] < 0.1: break\n"
    found = measured(tmp_path, 1_000, program)

    assert found.value("result_read_fraction") is None
    assert found.fact("result_read") is None


def test_what_is_shown_is_not_kept(tmp_path: Path) -> None:
    shown = PROGRAM.replace("losses.append(float(loss))", "print(float(loss))")
    found = measured(tmp_path, 1_000, shown)

    assert found.fact("result_read_statement") == "print(float(loss))"
    assert found.fact("result_kept") is None
