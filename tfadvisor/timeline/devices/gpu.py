"""GPUs: planes `/device:GPU:0`, with a line for each stream, kernels and copies that a call on the host launched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.timeline.devices.copy_details import copies_by_details
from tfadvisor.timeline.devices.peaks import Peaks, number, stated_peaks
from tfadvisor.timeline.devices.planes import devices_of_planes
from tfadvisor.timeline.devices.protocol import Copies, Properties, Recorded
from tfadvisor.timeline.devices.stats_of_events import numbers_of
from tfadvisor.timeline.intervals import BoolArray, Int64Array
from tfadvisor.timeline.model import Device
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.devices import device_class, gpu_model
from tfadvisor.timeline.names.planes import device_number, is_derived
from tfadvisor.vocabulary import DeviceKind
from tfadvisor.xplane.columns import HostTrace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_FLOPS_PER_CYCLE = {
    (7, 0): 1024,
    (7, 5): 1024,
    (8, 0): 2048,
    (8, 6): 1024,
    (8, 7): 1024,
    (8, 9): 1024,
    (9, 0): 4096,
    (10, 0): 8192,
}
"""Dense fp16/bf16 operations a cycle and multiprocessor by compute capability, from NVIDIA's white papers (Tensor-Core
products, a multiply and an add each), as in XProf's table of capabilities."""


class Gpu:
    """NVIDIA's and AMD's GPUs, as CUPTI and ROCm's tracer record them."""

    kind = DeviceKind.GPU
    label = DeviceKind.GPU.label
    on_host_threads = False

    def devices(self, recorded: Recorded) -> tuple[Device, ...]:
        """By number; planes of the same name are one device."""
        return devices_of_planes(self, recorded)

    def number(self, plane: str) -> int | None:
        """Of `/device:GPU:3`."""
        return device_number(plane, self.label)

    def holds_work(self, line: str, line_id: int) -> bool:
        """Streams do; lines that the profiler's viewer drew repeat them."""
        return not is_derived(line, line_id)

    def class_of(self, name: str, display_name: str) -> DeviceClass:
        """By the kernel's or copy's name."""
        return device_class(display_name or name)

    def runs_others(self, name: str) -> bool:
        """Kernels do not nest."""
        return False

    def programs(
        self, trace: HostTrace, events: Int64Array, row: npt.NDArray[np.int32]
    ) -> tuple[Int64Array, BoolArray]:
        """By each event's own stat."""
        return numbers_of(trace.stat(stats.PROGRAM_ID), events)

    def copies(
        self, trace: HostTrace, events: Int64Array, kind: npt.NDArray[np.int8], launch_row: npt.NDArray[np.int32]
    ) -> Copies:
        """By `memcpy_details` and the launching call."""
        return copies_by_details(trace, events, kind, launch_row)

    def model(self, properties: Properties) -> str:
        """`NVIDIA H100`, as the plane says it, else by what it states of the hardware."""
        stated = properties.get(stats.GPU_DEVICE_NAME) or properties.get(stats.DEVICE_TYPE_STRING)
        maker = str(properties.get(stats.DEVICE_VENDOR, stats.NVIDIA)).lower()
        cores, memory = number(properties, stats.CORE_COUNT), number(properties, stats.MEMORY_SIZE)
        return str(stated or gpu_model(maker, _capability(properties), cores, memory))

    def on_own_clock(self, trace: HostTrace) -> HostTrace:
        """The collector has brought its events to the host's clock."""
        return trace

    def holds_programs(self, plane: str, line: str) -> bool:
        """A GPU runs kernels, which belong to programs; there is no line of whole ones."""
        return False

    def peaks(self, properties: Properties) -> Peaks:
        """As the plane states them, else from clock, number of multiprocessors and compute capability."""
        return stated_peaks(properties) or _peaks_by_capability(properties)


def _peaks_by_capability(properties: Properties) -> Peaks:
    cores, clock_khz = number(properties, stats.CORE_COUNT), number(properties, stats.CLOCK_RATE)
    vendor = properties.get(stats.DEVICE_VENDOR, stats.NVIDIA)
    per_cycle = _FLOPS_PER_CYCLE.get(_capability(properties)) if vendor == stats.NVIDIA else None
    flops = cores * clock_khz * 1e3 * per_cycle if cores and clock_khz and per_cycle else None
    bandwidth = number(properties, stats.MEMORY_BANDWIDTH)
    if bandwidth and vendor == stats.AMD:
        bandwidth *= 2  # its plane counts one transfer a clock of memory that makes two: 2.66 TB/s for MI300X's 5.3
    return Peaks(flops, bandwidth or None)


def _capability(properties: Properties) -> tuple[int, int]:
    """Major and minor; zeros where the plane does not say."""
    major, minor = (int(number(properties, half) or 0) for half in stats.COMPUTE_CAPABILITY)
    return major, minor
