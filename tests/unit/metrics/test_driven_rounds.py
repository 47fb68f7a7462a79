"""Short rounds that Python drives one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gpu_step import gpu_steps

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics.registry import Metrics, Settings

ROUNDS = "for i in range(9):\n    state = step(state, i)\n    kept.append(state)\n"


def driven(folder: Path, program: str = ROUNDS) -> Metrics:
    """Steps of 100 µs of which the device works for 40, in ops of `step`."""
    (folder / "chain.py").write_text(program)
    steps = gpu_steps(("a", 10, "a.1"), ("b", 10, "b.1"), ("c", 20, "c.1"))
    for at in range(0, 400, 100):
        steps.call("PjitFunction(step)", at, at + 10)
    return steps.measure(Settings(source=ProgramSource(folder)))


def test_rounds_lose_all_time_in_which_no_device_works(tmp_path: Path) -> None:
    metrics = driven(tmp_path)

    assert metrics.value("driven_rounds_fraction") == pytest.approx(0.6)
    assert metrics.fact("driven_loop") == "the loop (chain.py:1)"
    assert metrics.fact("driven_loop_lines") == ROUNDS.strip()
    assert metrics.fact("driven_loop_collects") == "yes"


def test_a_function_of_few_ops_may_be_the_round(tmp_path: Path) -> None:
    """Fused into one kernel, as an op that runs alone; `add` is none of the program."""
    program = f"@jax.jit\ndef leap(s, i):\n    return s + i\n\n\n{ROUNDS}"
    (tmp_path / "chain.py").write_text(program.replace("step(", "leap("))
    steps = gpu_steps(("fusion", 10, "a.1"))
    for at in range(0, 400, 100):
        steps.call("PjitFunction(add)", at, at + 4)
        steps.call("PjitFunction(leap)", at + 5, at + 10)

    metrics = steps.measure(Settings(source=ProgramSource(tmp_path)))

    assert metrics.fact("compiled_step") is None
    assert metrics.fact("driven_function") == "leap"


def test_a_loop_that_keeps_nothing_collects_nothing(tmp_path: Path) -> None:
    metrics = driven(tmp_path, "for i in range(9):\n    state = step(state)\n")

    assert metrics.fact("driven_loop_collects") == "no"


def test_calls_for_one_row_each_lose_the_same_time(tmp_path: Path) -> None:
    metrics = driven(tmp_path, "for x in xs:\n    kept.append(int(step(w, x)))\n")

    assert metrics.value("row_calls_fraction") == pytest.approx(0.6)
    assert metrics.fact("row_call_line") == "chain.py:2"
    assert metrics.fact("row_call_loop") == "for x in xs"
    assert metrics.fact("row_call_function") == "step"
    assert metrics.fact("row_call_axes") == "(None, 0)"
    assert metrics.fact("row_call_arguments") == "w, xs"


def test_calls_that_need_each_other_are_no_calls_for_rows(tmp_path: Path) -> None:
    assert driven(tmp_path)["row_calls_fraction"].reason == (
        "no loop is known to call step for one row after another"
    )


def test_a_loop_that_trains_on_batches_is_not_driven_so(tmp_path: Path) -> None:
    metrics = driven(tmp_path, "for x in data:\n    state = step(state, x)\n")

    assert metrics["driven_rounds_fraction"].reason == (
        "no loop does nothing but rounds of step"
    )
