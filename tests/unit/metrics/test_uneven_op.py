"""The op that one device runs and the others do not."""

from __future__ import annotations

from support.trace_builder import trace


def test_an_op_of_one_device_alone() -> None:
    """Two steps of 1,000 µs. GPU:0 runs a sort of 300 µs that the others do not, and a
    product a tenth longer than theirs.
    """
    builder = trace().steps(2, period=1000)
    for at in (0, 1000):
        builder.busy("GPU:0", (at, at + 440), name="gemm").busy(
            "GPU:0", (at + 500, at + 800), name="sort"
        )
        for other in ("GPU:1", "GPU:2"):
            builder.busy(other, (at, at + 400), name="gemm")

    assert (
        builder.measure().fact("uneven_op")
        == "sort, 0.3 ms a step on GPU:0 and 0 ms on the others"
    )


def test_the_same_ops_on_uneven_shards() -> None:
    """GPU:0's product takes 1.9 times as long, which is no op of its own."""
    builder = trace().steps(2, period=1000)
    for at in (0, 1000):
        builder.busy("GPU:0", (at, at + 760), name="gemm").busy(
            "GPU:1", (at, at + 400), name="gemm"
        )

    assert builder.measure().fact("uneven_op") is None


def test_a_single_device() -> None:
    assert (
        trace().steps(2, period=100).busy("GPU:0", (0, 60)).measure().fact("uneven_op")
        is None
    )
