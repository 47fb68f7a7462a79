"""The program that a step runs again and again, worked out on paper."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace


def training_with_evaluation(runs: int, evaluate: str = "jit_evaluate") -> TraceBuilder:
    """Four steps of 100 us: the training step computes 20 us in two kernels, then `runs` evaluations of 5 us each."""
    built = trace().steps(4, 100)
    for step in range(4):
        at = 100 * step
        for part in range(2):
            built.kernel(
                *("GPU:0", f"train_kernel_{part}", at + 10 * part, at + 10 * part + 10),
                launched=(at, at + 1),
                hlo_module="jit_train_step",
                hlo_op=f"fusion.{part}",
            )
        for run in range(runs):
            begin = at + 20 + 5 * run
            built.kernel(
                *("GPU:0", "evaluate_kernel", begin, begin + 5),
                launched=(at, at + 1),
                hlo_module=evaluate,
                hlo_op="dot.1",
            )
    return built


def test_a_program_that_runs_twelve_times_a_step() -> None:
    found = training_with_evaluation(12).measure()

    assert found.fact("repeated_call") == "jit_evaluate"
    assert found.value("repeated_calls_per_step") == 12


@pytest.mark.parametrize("runs", [0, 1])
def test_programs_that_run_equally_often_are_not_repeated(runs: int) -> None:
    assert training_with_evaluation(runs).measure().fact("repeated_call") is None
