"""The programs of a step, how often each runs and which share it takes, worked out on paper."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.units import percent


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


def test_an_evaluation_twelve_times_a_step_is_counted_and_named() -> None:
    """12 x 5 us beside 20 us: 60 of 80 us of compute, 60 of the 100 us of a step."""
    found = training_with_evaluation(12).measure()

    assert found.fact("repeated_program") == "jit_evaluate"
    assert found.fact("repeated_program_use") == "evaluation"
    assert found.value("repeated_program_runs_per_step") == 12
    assert found.value("repeated_program_fraction") == pytest.approx(0.6)
    assert found.fact("step_programs") == (
        f"jit_evaluate 12 times a step, {percent(0.75)} of compute time; "
        f"jit_train_step 1 times a step, {percent(0.25)} of compute time"
    )


def test_programs_that_run_equally_often_are_compared_and_none_is_repeated() -> None:
    found = training_with_evaluation(1).measure()

    assert found.value("repeated_program_runs_per_step") is None
    assert found.fact("repeated_program") is None
    assert found.fact("step_programs") == (
        f"jit_train_step 1 times a step, {percent(0.8)} of compute time; "
        f"jit_evaluate 1 times a step, {percent(0.2)} of compute time"
    )


def test_a_single_program_is_compared_with_nothing() -> None:
    assert training_with_evaluation(0).measure().fact("step_programs") is None


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("jit_eval_step", "evaluation"),
        ("jit_val", "evaluation"),
        ("jit_micro_step", "unknown"),
        ("jit_value", "unknown"),
    ],
)
def test_the_name_says_what_it_is_for(name: str, use: str) -> None:
    assert training_with_evaluation(4, name).measure().fact("repeated_program_use") == use
