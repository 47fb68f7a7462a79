"""What the Python function does that the compiled step calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import hlo_builder as hlo
from support.trace_builder import trace

from tfadvisor.causes import ProgramSource
from tfadvisor.metrics import Metrics, Settings

PROGRAM = """\
import jax
def pick(sums, wanted, out):
    j = 0
    for i in range(9):
        while sums[j] < wanted[i]:
            j += 1
        out[i] = j
    return out
def step(sums, wanted):
    return jax.pure_callback({function}, shape, sums, wanted)
"""


def measured(folder: Path, function: str) -> Metrics:
    """Three steps of 100, each with a call of 20 of the Python on line 10."""
    (folder / "train.py").write_text(PROGRAM.format(function=function))
    at = hlo.metadata("jit(step)/pure_callback", "train.py", 10)
    program = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[9]"),
            hlo.op(
                2,
                "custom-call",
                "f32[9]",
                1,
                name="pure_callback.1",
                target="xla_ffi_python_cpu_callback",
                metadata=at,
            ),
        )
    )
    builder = trace()
    for begin in range(0, 300, 100):
        builder.thread("python").step(begin, begin + 100)
        builder.call("PjitFunction(step)", begin, begin + 90)
        builder.thread("tf_XLAEigen/1")
        for number, name in enumerate(("dot.1", "pure_callback.1", "dot.2")):
            first = begin + 10 + 20 * number
            builder.call(
                name,
                first,
                first + 20,
                hlo_op=name,
                hlo_module="jit_step",
                device_ordinal=0,
            )
    built = builder.program("jit_step", program)
    return built.measure(Settings(source=ProgramSource(folder)))


def test_its_loop_and_what_does_the_same_for_all(tmp_path: Path) -> None:
    found = measured(tmp_path, "pick")

    assert found.fact("callback_kind") == "looks up"
    assert found.fact("callback_head") == "for i in range(9):"
    assert found.fact("callback_loop") == (
        "pick goes through `for i in range(9)` on line 4, and in each round goes "
        "through sums for the place of one number"
    )
    assert "out = jnp.searchsorted(sums, wanted)" in str(found.fact("callback_whole"))


@pytest.mark.parametrize("function", ["other", "lambda *x: pick(*x)"])
def test_another_function_is_not_known(tmp_path: Path, function: str) -> None:
    assert measured(tmp_path, function).fact("callback_whole") is None
