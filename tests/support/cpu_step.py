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


def graph_steps(*ops: tuple[str, float], called: float = 900) -> TraceBuilder:
    """Four steps of 1,000 µs, in each of which Python calls a function of a graph for
    so long, and a thread runs its ops (name, µs) one after the other.
    """
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.thread("python").step(at, at + 1000)
        builder.call("EagerLocalExecute: __inference_step_7", at, at + called)
        builder.thread("tf_Compute/1")
        begin = at + 10.0
        for name, length in ops:
            builder.call(name, begin, begin + length)
            begin += length
    return builder
