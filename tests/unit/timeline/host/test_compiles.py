"""What compiles in the counted steps, and why, by frames and programs."""

from __future__ import annotations

import pytest
from support.hlo_builder import computation, module, op
from support.trace_builder import TraceBuilder, trace


def four_steps(*inside: tuple[str, float, float]) -> TraceBuilder:
    """Each step calls `step` for 60 of 100 µs; inside: events of that call."""
    builder = (
        trace()
        .steps(4, period=100)
        .busy("GPU:0", *((at + 90, at + 100) for at in (0, 100, 200, 300)))
    )
    for at in (5, 105, 205, 305):
        builder.call("PjitFunction(step)", at, at + 60)
        for name, lo, hi in inside:
            builder.call(name, at + lo, at + hi)
    return builder


def test_tracing_alone_compiles_nothing() -> None:
    """As jax.eval_shape does; the time is tracing all the same."""
    metrics = four_steps(("trace_to_jaxpr_dynamic", 5, 55)).measure()

    assert metrics.value("retraces_in_steady_state") == 0
    assert metrics.value("compile_fraction") == pytest.approx(0.6)


def test_what_is_traced_and_compiled_counts_once() -> None:
    builder = four_steps(("trace_to_jaxpr_dynamic", 5, 20), ("backend_compile", 20, 55))

    assert builder.measure().value("retraces_in_steady_state") == 4


def compiled_alike(*frames: str) -> TraceBuilder:
    """Two programs of `step` that are the same; each frame is called in each step."""
    builder = four_steps(("backend_compile", 5, 55), *((name, 0, 1) for name in frames))
    for number in (7, 8):
        data = module(computation(1, op(1, "parameter", "f32[8]")), one=number)
        builder.program("jit_step", data, number)
    return builder


@pytest.mark.parametrize(
    ("frames", "cause"),
    [
        ((), "same"),
        (("$train.py:3 step",), "argument"),
        (("$train.py:3 step", "$api.py:206 jit"), "function"),
        (("$api.py:206 jit", "$api.py:3000 clear_caches"), "cache"),
    ],
)
def test_frames_tell_why_the_same_program_was_made_again(
    frames: tuple[str, ...], cause: str
) -> None:
    assert compiled_alike(*frames).measure().fact("recompiled_cause") == cause


def test_what_is_compiled_is_told_with_its_steps_and_its_reason() -> None:
    metrics = compiled_alike("$api.py:206 jit").measure()

    assert metrics.fact("recompilations") == (
        "step 4 times, in 4 of 4 steps, since jax.jit is called in the steps, and each "
        "time gives a new function"
    )
