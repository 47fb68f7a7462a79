"""Python that the compiled step calls."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.trace_builder import TraceBuilder, trace

ROW = "f32[4]"


def program() -> bytes:
    """pure_callback.1 of line 40 in a loop of 3 rounds at line 42."""
    call = hlo.op(
        22,
        "custom-call",
        ROW,
        21,
        name="pure_callback.1",
        target="xla_ffi_python_cpu_callback",
        metadata=hlo.metadata("jit(step)/pure_callback", "train.py", 40),
    )
    loop = hlo.op(
        2,
        "while",
        ROW,
        1,
        calls=[2],
        config={"known_trip_count": {"n": "3"}},
        metadata=hlo.metadata("jit(step)/while", "train.py", 42),
    )
    return hlo.module(
        hlo.computation(2, hlo.op(21, "parameter", ROW), call),
        hlo.computation(1, hlo.op(1, "parameter", ROW), loop),
    )


def steps(calls: int = 3) -> TraceBuilder:
    """Three steps of 100, each with so many calls of 20."""
    builder = trace()
    for at in range(0, 300, 100):
        builder.thread("python").step(at, at + 100)
        builder.call("PjitFunction(step)", at, at + 90).thread("tf_XLAEigen/1")
        names = ["dot.1", *["pure_callback.1"] * calls, "dot.2"]
        for number, name in enumerate(names):
            begin = at + 10 + 15 * number
            builder.call(
                name,
                begin,
                begin + 15,
                hlo_op=name,
                hlo_module="jit_step",
                device_ordinal=0,
            )
    return builder


def test_line_and_loop_come_from_the_hlo() -> None:
    metrics = steps().program("jit_step", program()).measure()

    assert metrics.fact("python_in_step_op") == "pure_callback.1 (train.py:40)"
    assert metrics.value("python_calls_per_step") == pytest.approx(3)
    assert (
        metrics.fact("python_in_step_rounds")
        == "3 times a step, in each of 3 rounds of the loop at train.py:42"
    )


def test_without_hlo_calls_are_counted_alone() -> None:
    metrics = steps().measure()

    assert metrics.fact("python_in_step_op") == "pure_callback.1"
    assert metrics.fact("python_in_step_rounds") == "3 times a step"


def test_one_call_a_step_is_not_counted() -> None:
    metrics = steps(calls=1).measure()

    assert metrics.fact("python_in_step_rounds") == "once a step"


def test_the_time_stands_at_the_line() -> None:
    """45 of 100 of each step."""
    report = steps().program("jit_step", program()).report()

    (host,) = [kind for kind in report.attribution if kind.kind == "host"]
    called = host.parts[0]
    assert called.activity == "Python that the compiled step calls"
    assert called.fraction == pytest.approx(0.45)
    assert (called.places[0].file, called.places[0].line) == ("train.py", 40)


def test_a_step_that_calls_no_python_counts_no_call() -> None:
    metrics = steps(calls=0).measure()

    assert metrics.value("python_calls_per_step") == 0
    assert metrics.fact("python_in_step_rounds") is None
