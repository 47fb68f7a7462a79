"""How many of the recorded steps compile."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.trace_builder import TraceBuilder, trace

from tfadvisor.report.assembly.report import compiling_of


def ten_steps(*compiling: int, us: int = 1_000) -> TraceBuilder:
    """Steps of 1 ms in which the device computes; the numbered ones compile before,
    for so long.
    """
    builder, at = trace(), 0
    for number in range(10):
        late = us if number in compiling else 0
        builder.step(at, at + late + 1_000)
        builder.call("PjitFunction(step)", at, at + late + 10)
        if late:
            builder.call("backend_compile", at, at + late)
        builder.kernel(
            "GPU:0", "k", at + late + 10, at + late + 1_000, launched=(at + late, at)
        )
        at += late + 1_000
    return builder


@pytest.mark.parametrize(
    ("compiling", "us", "share"),
    [((), 0, 0.0), ((2, 5, 8), 1_000, 0.3), ((2, 5, 8), 5, 0.0), (range(10), 500, 1.0)],
)
def test_a_step_compiles_of_which_that_takes_a_tenth(
    compiling: tuple[int, ...], us: int, share: float
) -> None:
    """5 µs of 1 ms do not make one, 500 of 1,500 do."""
    assert compiling_of(ten_steps(*compiling, us=us).build()) == share


@pytest.mark.parametrize(("round_ms", "share"), [(0.0, 1.0), (4.4, 1.0), (4.6, 0.0)])
def test_steps_that_are_no_rounds_of_the_programs_loop_tell_nothing(
    round_ms: float, share: float
) -> None:
    """Each takes 1.5 ms, a third of a round at most."""
    run = ten_steps(*range(10), us=500).build()
    (host,) = run.hosts
    steps = replace(host.steps, round_ms=round_ms)

    assert compiling_of(replace(run, hosts=(replace(host, steps=steps),))) == share
