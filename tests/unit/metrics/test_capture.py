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
def test_the_run_computes_on_its_accelerator_whatever_its_kind(
    kinds: tuple[Enum, ...], expected: str
) -> None:
    """A kind that this version does not know is a kind like any other, not an absent
    fact.
    """
    run = trace().step(0, 100).busy("GPU:0", (0, 50)).busy("GPU:1", (0, 50)).build()
    (host,) = run.hosts
    devices = tuple(
        replace(device, kind=kind)
        for device, kind in zip(host.devices, kinds, strict=True)
    )

    assert (
        measure(replace(run, hosts=(replace(host, devices=devices),))).fact(
            "device_kind"
        )
        == expected
    )


def test_a_run_without_devices_has_no_kind() -> None:
    metrics = trace().step(0, 100).call("load_batch", 0, 50).measure()

    assert metrics.fact("device_kind") is None


MARCH_2024, MAY_2020 = 1_710_720_000_000_000_000, 1_588_291_200_000_000_000


@pytest.mark.parametrize(
    ("began_ns", "properties", "second", "found"),
    [
        (MAY_2020, {}, 60, 0.25),
        (MARCH_2024, {}, 60, None),  # the day from which they may run together
        (MAY_2020, {}, 59, None),  # they do, for 1 µs
        (MAY_2020, {"device_vendor": "AMD"}, 60, None),
        (0, {}, 60, 0.25),  # TensorFlow wrote neither the time nor the GPU's name
        (0, {"gpu_device_name": "NVIDIA H100"}, 60, None),
    ],
)
def test_old_profilers_let_no_two_kernels_run_at_the_same_time(
    began_ns: int, properties: dict[str, str], second: float, found: float | None
) -> None:
    """In each step of 100 µs a kernel of 60 µs, and one of 20 of another stream behind
    it.
    """
    builder = (
        trace()
        .call("EagerLocalExecute: __inference_train_step_7", 0, 190)
        .plane_stat("/device:GPU:0", **properties)
    )
    if began_ns:
        builder.plane_stat("Task Environment", profile_start_time=began_ns)
    for at in (0, 100):
        builder.step(at, at + 100).busy("GPU:0", (at, at + 60)).busy(
            "GPU:0", (at + second, at + 80), stream=2
        )

    assert builder.measure().value("kernels_in_turn_fraction") == (
        found and pytest.approx(found)
    )


def test_one_stream_has_nothing_to_run_beside() -> None:
    builder = trace().plane_stat("Task Environment", profile_start_time=MAY_2020)
    builder.steps(2, period=100).busy("GPU:0", (0, 60), (100, 160))

    assert "one stream" in builder.measure()["kernels_in_turn_fraction"].reason


def test_what_an_old_profiler_exposes_may_be_hidden_without_it() -> None:
    """For 20 of 100 µs nothing but an AllReduce runs."""
    builder = trace().plane_stat("Task Environment", profile_start_time=MAY_2020)
    for at in range(0, 400, 100):
        builder.step(at, at + 100)
        for device in ("GPU:0", "GPU:1"):
            builder.busy(device, (at, at + 75)).collective(device, at + 75, at + 95)

    (found,) = (
        one for one in builder.report().findings if one.rule_id == "exposed-collectives"
    )

    assert "no two kernels" in found.caveat
