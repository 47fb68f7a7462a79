"""A loader in the loop that computes with arrays of the device: each operation is a
dispatch.
"""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace


def loading(*operations: tuple[float, float]) -> TraceBuilder:
    """Four steps of 1,000 µs: 500 of loading with these dispatches in it, a call of the
    step, 400 of device work.
    """
    builder = trace().call("$train.py:60 main", 0, 4000)
    for at in range(0, 4000, 1000):
        builder.step(at, at + 1000).call("$data_loader.py:34 __next__", at, at + 500)
        for start, end in operations:
            builder.call("PjitFunction(subtract)", at + start, at + end)
        builder.call("PjitFunction(step)", at + 510, at + 520).busy(
            "GPU:0", (at + 520, at + 920)
        )
    return builder


def test_operations_inside_the_loader_count() -> None:
    """Three a step lie in it; the step's own dispatch, after it, does not."""
    metrics = loading((10, 20), (100, 110), (490, 499)).measure()

    assert metrics.fact("input_frame") == "__next__ (data_loader.py:34)"
