"""Steps of TensorFlow's ops on a CPU."""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace


def cpu_steps(*ops: tuple[str, float]) -> TraceBuilder:
    """Four steps of 100 µs, of ops (name, µs) one after the other."""
    builder = trace().steps(4, period=100).thread("tf_Compute/1")
    for at in range(0, 400, 100):
        start = float(at)
        for name, length in ops:
            builder.call(name, start, start + length)
            start += length
    return builder
