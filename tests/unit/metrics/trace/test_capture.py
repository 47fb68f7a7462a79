"""What the trace says of the run itself."""

from __future__ import annotations

from enum import Enum

import pytest
from msgspec.structs import replace
from support.trace_builder import trace

from tfadvisor.metrics.registry import measure
from tfadvisor.vocabulary import DeviceKind


class New(Enum):
    """A kind that this version does not know."""

    XPU = "xpu"


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ((DeviceKind.CPU, DeviceKind.GPU), "gpu"),
        ((DeviceKind.GPU, DeviceKind.TPU), "gpu"),
        ((DeviceKind.CPU, DeviceKind.TPU), "tpu"),
        ((DeviceKind.CPU, New.XPU), "xpu"),
    ],
)
def test_the_run_computes_on_its_accelerator_whatever_its_kind(kinds: tuple[Enum, ...], expected: str) -> None:
    """A kind that this version does not know is a kind like any other, not an absent fact."""
    run = trace().step(0, 100).busy("GPU:0", (0, 50)).busy("GPU:1", (0, 50)).build()
    (host,) = run.hosts
    devices = tuple(replace(device, kind=kind) for device, kind in zip(host.devices, kinds, strict=True))

    assert measure(replace(run, hosts=(replace(host, devices=devices),))).fact("device_kind") == expected


def test_a_run_without_devices_has_no_kind() -> None:
    metrics = trace().step(0, 100).call("load_batch", 0, 50).measure()

    assert metrics.fact("device_kind") is None
