"""A kind of device that nobody thought of: one file of answers, its names, and a right
breakdown.

docs/architecture/add-a-device.md tells the same in words. The kind, the plane and the
calls are made up after Intel's GPUs and Level Zero; nothing of them is known to the
package.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import numpy as np
import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.arrays import BoolArray, Int64Array
from tfadvisor.timeline.devices import device_kinds
from tfadvisor.timeline.devices.device_kinds import peaks_of
from tfadvisor.timeline.devices.event_stats import no_details, numbers_of
from tfadvisor.timeline.devices.planes import devices_of_planes
from tfadvisor.timeline.devices.protocol import (
    Copies,
    DeviceOfPlanes,
    Peaks,
    Properties,
    RecordedHost,
)
from tfadvisor.timeline.names import drivers, stats
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.drivers import DriverCalls
from tfadvisor.timeline.timeline_parts import Device
from tfadvisor.trace.columns import HostTrace
from tfadvisor.vocabulary import TimeClass

PLANE = "/device:XPU:0"
LEVEL_ZERO = DriverCalls(
    host_plane="/host:LEVEL_ZERO",
    launches=("zeCommandListAppend",),
    memory=("zeMemAlloc", "zeMemFree"),
    waits=("zeFenceHostSynchronize",),
    graph_launches=(),
)


class NewKind(Enum):
    """Stands for one more member of DeviceKind."""

    XPU = "xpu"


class Xpu(DeviceOfPlanes):
    """What a file `devices/xpu.py` would hold."""

    kind = NewKind.XPU
    label = "XPU"

    def devices(self, recorded: RecordedHost) -> tuple[Device, ...]:
        return devices_of_planes(self, recorded)

    def holds_work(self, line: str, line_id: int) -> bool:
        return line.startswith("Queue")

    def class_of(self, trace: HostTrace, row: int) -> DeviceClass:
        name = trace.names.name[row]
        if name.startswith("zeMemoryCopy"):
            return DeviceClass.H2D
        return (
            DeviceClass.COLLECTIVE if name.startswith("oneccl") else DeviceClass.COMPUTE
        )

    def programs(
        self, trace: HostTrace, events: Int64Array, row: np.ndarray
    ) -> tuple[Int64Array, BoolArray]:
        return numbers_of(trace.stat(stats.PROGRAM_ID), events)

    def copies(
        self,
        trace: HostTrace,
        events: Int64Array,
        kind: np.ndarray,
        launch_row: Int64Array,
    ) -> Copies:
        return no_details(kind)

    def model(self, properties: Properties) -> str:
        return str(properties.get("xpu_name", ""))

    def peaks(self, properties: Properties) -> Peaks:
        return Peaks(flops=839e12, bytes_per_s=3.2e12)


@pytest.fixture
def _known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(drivers, "_DRIVERS", [*drivers._DRIVERS, LEVEL_ZERO])
    monkeypatch.setattr(device_kinds, "_PLATFORMS", [*device_kinds._PLATFORMS, Xpu()])
    drivers._joined.cache_clear()
    yield
    drivers._joined.cache_clear()


def two_steps() -> TraceBuilder:
    """Two steps of 100 µs. In each the launch takes 10 µs, a copy runs from 10 to 20, a
    kernel from 20 to 60, and from 50 on an exchange that ends at 80; then the host
    waits. A line that sums the queue up repeats it all."""
    builder = trace().plane_stat(PLANE, xpu_name="Data Center GPU Max 1550")
    for number, at in enumerate((0, 100)):
        builder.step(at, at + 100)
        builder.on_line(
            "/host:CPU",
            "python",
            "zeCommandListAppendLaunchKernel",
            at,
            at + 10,
            correlation_id=number + 1,
        )
        builder.on_line(
            "/host:CPU", "python", "zeFenceHostSynchronize", at + 10, at + 80
        )
        builder.on_line(
            PLANE, "Queue #0", "zeMemoryCopy(host, device)", at + 10, at + 20
        )
        builder.on_line(
            PLANE,
            "Queue #0",
            "gemm_kernel",
            at + 20,
            at + 60,
            correlation_id=number + 1,
        )
        builder.on_line(PLANE, "Queue #1", "oneccl_allreduce", at + 50, at + 80)
        builder.on_line(PLANE, "Sum of all queues", "gemm_kernel", at, at + 100)
    return builder


@pytest.mark.usefixtures("_known")
def test_its_steps_are_broken_down() -> None:
    """Of each 100 µs: compute 40, communication alone 20, copy alone 10; the launch
    takes the first 10, and the 20 after the exchange are Python's."""
    (breakdown,) = two_steps().timeline().breakdown

    assert dict(zip(TimeClass, (breakdown[0] // 1_000_000).tolist(), strict=True)) == {
        TimeClass.COMPUTE: 40,
        TimeClass.COLLECTIVE: 20,
        TimeClass.TRANSFER: 10,
        TimeClass.COMPILE: 0,
        TimeClass.INPUT: 0,
        TimeClass.LAUNCH: 10,
        TimeClass.HOST: 20,
        TimeClass.IDLE: 0,
    }
    assert (breakdown[0] == breakdown[1]).all()


@pytest.mark.usefixtures("_known")
def test_it_is_called_by_its_own_name_and_linked_to_its_launches() -> None:
    (device,) = two_steps().timeline().devices

    assert (device.name, device.model) == ("XPU:0", "Data Center GPU Max 1550")
    assert device.ops.launch_start.tolist() == [-1, 0, -1, -1, 100_000_000, -1]


@pytest.mark.usefixtures("_known")
def test_metrics_and_report_know_it() -> None:
    metrics, report = two_steps().measure(), two_steps().report()

    assert metrics.fact("device_kind") == "xpu"
    assert metrics.value("device_busy_fraction") == pytest.approx(0.7)
    assert [(one.kind, one.name) for one in report.run.devices] == [("xpu", "XPU:0")]
    assert report.breakdown["collective"] == pytest.approx(0.2)


@pytest.mark.usefixtures("_known")
def test_it_answers_for_its_peaks() -> None:
    assert peaks_of(NewKind.XPU, {}).flops == 839e12


def test_nobody_knows_it_afterwards() -> None:
    timeline = two_steps().timeline()

    assert PLANE.removeprefix("/device:") not in [
        device.name for device in timeline.devices
    ]
    assert peaks_of(NewKind.XPU, {}) == Peaks(None, None)
