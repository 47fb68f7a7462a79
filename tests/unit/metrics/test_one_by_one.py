"""Programs of one op that a JAX loop dispatches beside its compiled step."""

from __future__ import annotations

import pytest
from support.hlo_builder import computation, metadata, module, op
from support.trace_builder import TraceBuilder, trace

STEP = "PjitFunction(train_step)"


def step_and_ops(ops: int, steps: int = 4, bare: int = 0) -> TraceBuilder:
    """Steps of 1,000 µs on a GPU: three kernels of the compiled step, 100 µs each, then
    so many calls of `multiply`, 20 µs every 40 µs, each of one kernel of 5 µs.

    bare: steps that have none of these calls.
    """
    builder = trace()
    for index in range(steps):
        at = index * 1000
        builder.step(at, at + 1000).call("$main.py:5 train", at + 1, at + 999)
        builder.call(STEP, at + 2, at + 50)
        for number, name in enumerate(("dot", "add", "tanh")):
            start = at + 60 + number * 100
            of_step = {"hlo_op": name, "hlo_module": "jit_train_step", "program_id": 7}
            builder.kernel(
                "GPU:0",
                name,
                start,
                start + 100,
                launched=(at + 10, at + 11),
                **of_step,
            )
        for number in range(ops if index >= bare else 0):
            start = at + 400 + number * 40
            builder.call("$_schedule.py:9 schedule", start, start + 20)
            builder.call("PjitFunction(multiply)", start + 1, start + 19)
            alone = {"hlo_op": "mul", "hlo_module": "jit_multiply", "program_id": 8}
            builder.kernel(
                "GPU:0",
                "mul",
                start + 20,
                start + 25,
                launched=(start + 2, start + 3),
                **alone,
            )
    return builder


def test_small_programs_beside_a_compiled_step_are_ops_one_by_one() -> None:
    metrics = step_and_ops(10).measure()

    assert metrics.value("ops_one_by_one") == 10
    assert metrics.value("dispatches_per_step") == 11
    assert metrics.value("compiled_calls_per_step") == 1
    assert metrics.fact("one_by_one_ops") == "multiply"
    assert metrics.fact("compiled_step") == "train_step"


def test_devices_wait_for_their_calls_and_the_pauses_between_them() -> None:
    """From the first call to the last 361 + 18 = 378 µs of 1,000, without the nine
    kernels of 5 µs between them: 333.
    """
    metrics = step_and_ops(10).measure()

    assert metrics.value("eager_dispatch_fraction") == pytest.approx(0.333, abs=0.001)


def test_with_few_dispatches_a_step_is_compiled() -> None:
    """Six ops and the step are seven dispatches, of eight that an eager step has."""
    assert step_and_ops(6).measure().value("eager_dispatch_fraction") == 0


@pytest.mark.parametrize(("bare", "share"), [(0, 1.0), (3, 0.25)])
def test_steps_that_run_many_of_them_are_counted(bare: int, share: float) -> None:
    assert step_and_ops(10, bare=bare).measure().value("eager_step_share") == share


def test_a_finding_names_the_ops_and_what_calls_them() -> None:
    (first, *_) = step_and_ops(10).report().findings

    assert first.rule_id == "ops-beside-compiled-step"
    assert "10 ops one by one beside the compiled train_step: multiply" in first.summary


def test_ops_of_one_step_are_no_finding() -> None:
    found = {one.rule_id for one in step_and_ops(10, bare=3).report().findings}

    assert "ops-beside-compiled-step" not in found


def with_line(builder: TraceBuilder, line: int) -> TraceBuilder:
    """The HLO of `multiply`, first called on this line of main.py."""
    place = metadata("jit(multiply)/mul", "main.py", line)
    root = op(2, "multiply", "f32[8]", 1, 1, name="mul", metadata=place)
    data = module(computation(1, op(1, "parameter", "f32[8]"), root))
    return builder.program("jit_multiply", data, 8)


def test_a_line_of_the_program_that_frames_do_not_have_comes_from_the_hlo() -> None:
    metrics = with_line(step_and_ops(10), 17).measure()

    assert metrics.fact("schedule_one_by_one") == "schedule (main.py:17)"
    assert metrics.fact("one_by_one_place") == "train (main.py:17)"


def test_a_line_before_the_function_is_no_line_of_it() -> None:
    """The op was compiled for another function, which stands above."""
    metrics = with_line(step_and_ops(10), 3).measure()

    assert metrics.fact("one_by_one_place") == "train (main.py:5)"
