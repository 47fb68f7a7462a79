"""Two GPUs that compute the same values."""

from __future__ import annotations

from pytest import approx
from support import hlo_builder as hlo
from support.trace_builder import trace

from tfadvisor.metrics.registry import Metrics

SPLIT = hlo.field(1, 3) + hlo.packed(3, [2, 1])
WHOLE = b""


def measured(sharding: bytes) -> Metrics:
    """Four steps of 100 µs, in each of which both devices run the product 60 µs
    long.
    """
    entry = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[8,8]"),
        hlo.op(2, "add", "f32[8,8]", 1, 1, name="add.2"),
    )
    extra = hlo.field(15, hlo.field(1, 1) + hlo.field(2, 2)) + hlo.field(14, sharding)
    builder = (
        trace().steps(4, period=100).program("jit_step", hlo.module(entry, extra=extra))
    )
    stats = {"hlo_op": "add.2", "hlo_module": "jit_step", "program_id": 7}
    for at in (0, 100, 200, 300):
        for device in ("/device:GPU:0", "/device:GPU:1"):
            builder.on_line(
                device,
                "Stream #1(Compute)",
                "loop_add_fusion",
                at + 10,
                at + 70,
                **stats,
            )
    return builder.measure()


def test_half_of_what_two_devices_compute_alike_is_needless() -> None:
    metrics = measured(WHOLE)

    assert metrics.value("same_work_fraction") == approx(0.3)


def test_a_split_input_makes_the_work_a_devices_own() -> None:
    metrics = measured(SPLIT)

    assert metrics.value("same_work_fraction") == 0
