"""How many of the recorded steps compile."""

from __future__ import annotations

import pytest
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
