"""What the trace says of the run itself."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.trace_builder import trace

from tfadvisor.metrics.registry import measure


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [(("cpu", "gpu"), "gpu"), (("gpu", "tpu"), "gpu"), (("cpu", "tpu"), "tpu"), (("cpu", "xpu"), "xpu")],
)
def test_the_run_computes_on_its_accelerator_whatever_its_kind(kinds: tuple[str, ...], expected: str) -> None:
    """A kind that this version does not know is a kind like any other, not an absent fact."""
    run = trace().step(0, 100).busy("GPU:0", (0, 50)).busy("GPU:1", (0, 50)).build()
    (host,) = run.hosts
    devices = tuple(replace(device, kind=kind) for device, kind in zip(host.devices, kinds, strict=True))

    assert measure(replace(run, hosts=(replace(host, devices=devices),))).fact("device_kind") == expected


def test_a_run_without_devices_has_no_kind() -> None:
    metrics = trace().step(0, 100).call("load_batch", 0, 50).measure()

    assert metrics.fact("device_kind") is None
