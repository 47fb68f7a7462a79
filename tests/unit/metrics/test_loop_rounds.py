"""Rounds of the while loops of TensorFlow's graphs."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from support.trace_builder import TraceBuilder, trace

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import Settings, measure
from tfadvisor.trace.noted_ops import NotedOp, NotedOps, OpLine

OUTER = "while/body/_1/while/"
INNER = f"{OUTER}while_1/body/_9/while/while_1/"
OTHER = f"{OUTER}while_2/body/_8/while/while_2/"


def steps(*ops: tuple[str, int]) -> TraceBuilder:
    """Four steps of 1,000, each with so many runs of 4 of each op."""
    builder = trace()
    for index in range(4):
        at = index * 1000
        builder.thread("python").step(at, at + 1000)
        builder.call("EagerLocalExecute: __inference_train_step_7", at, at + 900)
        builder.thread("tf_Compute/1")
        begin = at + 10
        for name, times in ops:
            for _ in range(times):
                builder.call(name, begin, begin + 4)
                begin += 5
    return builder


def test_rounds_of_loops_in_a_loop_are_added_up() -> None:
    """4 rounds, in them 4 of 10 and 4 of 5 each: 4 + 40 + 20."""
    builder = steps(
        (f"{OUTER}mul:Mul", 4), (f"{INNER}add:AddV2", 40), (f"{OTHER}sub:Sub", 20)
    )

    metrics = builder.measure()

    assert metrics.value("loop_iterations_per_step") == pytest.approx(64)
    assert metrics.value("loop_ops_per_step") == pytest.approx(64)


def test_several_ops_of_a_round_count_once_and_other_loops_apart() -> None:
    """6 rounds of two ops; another loop has 5."""
    builder = steps(
        (f"{OUTER}mul:Mul", 6),
        (f"{OUTER}add:AddV2", 6),
        ("while_7/body/_3/while_7/sub:Sub", 5),
    )

    found = builder.measure().value("loop_iterations_per_step")

    assert found == pytest.approx(6)


def test_ops_beside_loops_have_no_rounds() -> None:
    found = steps(("dense/MatMul:MatMul", 8), ("cond/then/_3/cond/add:AddV2", 4))

    metrics = found.measure()

    assert metrics.value("loop_iterations_per_step") == 0
    assert metrics.value("loop_ops_per_step") == 0


@pytest.mark.parametrize("kind", ["While", "StatelessWhile"])
def test_the_line_that_makes_the_loop_is_noted_beside_the_trace(kind: str) -> None:
    line = OpLine("train.py", 41, "update_state")
    run = steps((f"{OUTER}mul:Mul", 4)).build()
    noted = replace(run, op_lines=NotedOps((NotedOp("while", kind, line),)))

    assert measure(noted).fact("loop_place") == "update_state (train.py:41)"
    assert measure(run).fact("loop_place") is None


@pytest.mark.parametrize(
    ("loop", "forward"),
    [
        ("gradient_tape/while/while_grad", "while"),
        ("gradient_tape/gru/while/gru/while_grad", "gru/while"),
        ("while_2", "while_2"),
    ],
)
def test_of_a_loop_of_gradients_the_line_is_the_loops_own(
    loop: str, forward: str
) -> None:
    """The loop of gradients is made where the tape is asked, on line 35."""
    own, asked = OpLine("train.py", 24, "encode"), OpLine("train.py", 35, "step")
    run = steps((f"{loop}/body/_9/{loop}/mul:Mul", 4)).build()
    ops = (NotedOp(forward, "While", own), NotedOp(f"{loop}_grad", "While", asked))
    noted = replace(run, op_lines=NotedOps((*ops, NotedOp("tape", "While", asked))))

    assert measure(noted).fact("loop_place") == "encode (train.py:24)"


GRADIENT = ("gradient_tape/dense/MatMul:MatMul", 1)


def test_a_loop_of_which_no_gradient_is_taken() -> None:
    metrics = steps(GRADIENT, (f"{OUTER}mul:Mul", 4)).measure()

    assert metrics.fact("loop_gradient") == "no"


def test_a_loop_of_which_a_gradient_is_taken() -> None:
    """Its gradients have a loop of their own."""
    ops = ("gradient_tape/while/while_grad/body/_9/gradient_tape/while/mul:Mul", 4)

    assert steps(ops, (f"{OUTER}mul:Mul", 4)).measure().fact("loop_gradient") == "yes"


def test_a_step_without_gradients_does_not_say() -> None:
    assert steps((f"{OUTER}mul:Mul", 4)).measure().fact("loop_gradient") is None


# What the program's source says of such loops.

GENERATES = """
import tensorflow as tf
def generate(self, tokens):
    for i in tf.range(LENGTH):
        word = draw(self(tokens)[:, i])
        tokens += word * tf.one_hot(i, LENGTH)
"""


DECODES = """
import numpy as np
def generate(params, tokens):
    output = np.zeros(LENGTH)
    for t in range(LENGTH):
        logits = {call}(params, output)
        output[t + 1] = int(logits[t].argmax())
"""


@pytest.mark.parametrize(("call", "counts"), [("decode", True), ("encode", False)])
def test_a_loop_of_python_runs_a_compiled_function_on_all_for_one(
    tmp_path: Path, call: str, counts: bool
) -> None:
    """Four steps, each a call of decode, which computes for 60 of 100."""
    (tmp_path / "train.py").write_text(DECODES.format(call=call))
    builder = trace()
    for index in range(4):
        at = index * 100
        builder.thread("python").step(at, at + 100)
        builder.call("PjitFunction(decode)", at + 1, at + 10)
        builder.thread("tf_XLATfrtCpuClient/1")
        for number, begin in enumerate((20, 35, 50, 65)):
            name = f"dot.{number}"
            labels = {"hlo_op": name, "hlo_module": "jit_decode", "program_id": 7}
            builder.call(name, at + begin, at + begin + 15, **labels)
    metrics = builder.measure(Settings(source=ProgramSource(tmp_path)))

    expected = 0.6 if counts else 0.0
    assert metrics.value("whole_for_one_fraction") == pytest.approx(expected)


def test_ops_of_loops_count_where_a_loop_runs_a_model_on_all_for_one(
    tmp_path: Path,
) -> None:
    """6 of 10 runs of 4 are a loop's."""
    (tmp_path / "train.py").write_text(GENERATES)
    run = steps((f"{OUTER}mul:Mul", 6), ("dense/MatMul:MatMul", 4)).build()
    source = Settings(source=ProgramSource(tmp_path))

    metrics = measure(run, source)

    compute = metrics.value("compute_fraction")
    assert compute is not None
    assert metrics.value("whole_for_one_fraction") == pytest.approx(0.6 * compute)
    assert metrics.fact("whole_for_one_call") == "self(tokens)[:, i]"
    assert metrics.fact("whole_for_one_place") == "self (train.py:5)"
    elsewhere = NotedOps((NotedOp("while", "While", OpLine("train.py", 41, "other")),))
    other = measure(replace(run, op_lines=elsewhere), source)
    assert other.value("whole_for_one_fraction") == 0
