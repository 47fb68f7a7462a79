"""GPUs: planes `/device:GPU:0`, with a line for each stream, kernels and copies that a
call on the host launched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tfadvisor.timeline.devices.event_stats import copies_by_details, numbers_of
from tfadvisor.timeline.devices.planes import devices_of_planes
from tfadvisor.timeline.devices.protocol import (
    Copies,
    DeviceOfPlanes,
    Peaks,
    Properties,
    RecordedHost,
    number,
    peaks_of_model,
    stated_peaks,
)
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DeviceClass, is_derived
from tfadvisor.timeline.names.device_events import device_class, gpu_model, is_for_games
from tfadvisor.timeline.names.models import has_tensor_cores, multiprocessors
from tfadvisor.timeline.timeline_parts import Device
from tfadvisor.trace.columns import HostTrace
from tfadvisor.vocabulary import DeviceKind

if TYPE_CHECKING:
    from tfadvisor.arrays import BoolArray, Int8Array, Int32Array, Int64Array

_DOUBLE_RATE = (9, 4)
"""AMD's first architecture whose plane counts one transfer a clock of memory that makes
two: 2.66 TB/s for MI300X's 5.3. Of HBM2e before, it counts both."""


class Gpu(DeviceOfPlanes):
    """NVIDIA's and AMD's GPUs, as CUPTI and ROCm's tracer record them."""

    kind = DeviceKind.GPU

    def devices(self, recorded: RecordedHost) -> tuple[Device, ...]:
        """By number; planes of the same name are one device."""
        return devices_of_planes(self, recorded)

    def holds_work(self, line: str, line_id: int) -> bool:
        """Streams do; lines that the profiler's viewer drew repeat them."""
        return not is_derived(line, line_id)

    def class_of(self, trace: HostTrace, row: int) -> DeviceClass:
        """By the kernel's or copy's name."""
        return device_class(trace.names.display_name[row] or trace.names.name[row])

    def programs(
        self,
        trace: HostTrace,
        events: Int64Array,
        row: Int32Array,
    ) -> tuple[Int64Array, BoolArray]:
        """By each event's own stat."""
        return numbers_of(trace.stat(stats.PROGRAM_ID), events)

    def copies(
        self,
        trace: HostTrace,
        events: Int64Array,
        kind: Int8Array,
        launch_row: Int32Array,
    ) -> Copies:
        """By `memcpy_details` and the launching call."""
        return copies_by_details(trace, events, kind, launch_row)

    def model(self, properties: Properties) -> str:
        """`NVIDIA H100`, as the plane says it, else by what it states of the
        hardware.
        """
        stated = properties.get(stats.GPU_DEVICE_NAME) or properties.get(
            stats.DEVICE_TYPE_STRING
        )
        cores = number(properties, stats.CORE_COUNT)
        memory = number(properties, stats.MEMORY_SIZE)
        return str(
            stated
            or gpu_model(vendor(properties), capability(properties), cores, memory)
        )

    def peaks(self, properties: Properties) -> Peaks:
        """As the plane states them, else as the maker of the model does, else (16 bits)
        from clock, number of multiprocessors and compute capability. The bandwidth of
        NVIDIA's is what the plane states: one model has memories of several speeds.
        """
        stated = stated_peaks(properties)
        if stated:
            return stated
        model = self.model(properties)
        known = peaks_of_model(model)
        reckoned = _peaks_by_capability(properties, model)
        if known is None:
            return reckoned
        if properties.get(stats.DEVICE_VENDOR, stats.NVIDIA) == stats.AMD:
            return known
        return replace(
            known,
            flops=known.flops or reckoned.flops,
            bytes_per_s=reckoned.bytes_per_s or known.bytes_per_s,
        )


def _peaks_by_capability(properties: Properties, model: str) -> Peaks:
    cores = number(properties, stats.CORE_COUNT)
    clock_khz = number(properties, stats.CLOCK_RATE)
    vendor = properties.get(stats.DEVICE_VENDOR, stats.NVIDIA)
    known = capability(properties)
    multiprocessor = multiprocessors().get(known) if vendor == stats.NVIDIA else None
    if has_tensor_cores(model, known, cores) is False:
        multiprocessor = None
    per_cycle = multiprocessor and (
        multiprocessor.for_games if is_for_games(model) else multiprocessor.per_cycle
    )
    if cores and clock_khz and per_cycle:
        flops = cores * clock_khz * 1e3 * per_cycle
    else:
        flops = None
    bandwidth = number(properties, stats.MEMORY_BANDWIDTH)
    if bandwidth and vendor == stats.AMD and known >= _DOUBLE_RATE:
        bandwidth *= 2
    return Peaks(flops, bandwidth or None)


def vendor(properties: Properties) -> str:
    """In lower case; `nvidia` where the plane does not say."""
    return str(properties.get(stats.DEVICE_VENDOR, stats.NVIDIA)).lower()


def capability(properties: Properties) -> tuple[int, int]:
    """Of CUDA, or of AMD's architecture, major and minor; zeros where the plane does
    not say.
    """
    major, minor = (
        int(number(properties, half) or 0) for half in stats.COMPUTE_CAPABILITY
    )
    return major, minor
