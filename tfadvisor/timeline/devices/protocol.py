"""What a kind of device answers about itself, its peaks included. One file here for
each kind; the registry lists them.

Most kinds record their work on planes of their own: they are a `DeviceOfPlanes`, and
`planes.devices_of_planes` turns their answers into devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tfadvisor.program import Modules
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DeviceClass, device_number
from tfadvisor.timeline.names.models import known_model
from tfadvisor.timeline.timeline_parts import Device, Stated
from tfadvisor.trace.columns import HostTrace
from tfadvisor.vocabulary import DeviceKind

if TYPE_CHECKING:
    from tfadvisor.arrays import BoolArray, Int8Array, Int32Array, Int64Array

Properties: TypeAlias = Mapping[str, float | int | str]
"""A device plane's own stats, those that are a number or a text."""


class RecordedHost(msgspec.Struct, frozen=True):
    """What one host recorded, as devices are found in it."""

    trace: HostTrace
    """Every plane, on the devices' own clocks where they have one."""
    threads: Threads
    """The host's threads."""
    host: str
    """The host's name."""
    pipeline_work: BoolArray
    """For every host event, whether it is work of the input pipeline, which is no
    device work.
    """
    programs: Modules
    """The HLO in the trace."""


class DevicePlatform:
    """One kind of device. What a kind does not answer is as for most: no clock, no line
    of programs and no peaks of its own.
    """

    kind: DeviceKind
    on_host_threads = False
    """Whether its work is recorded on the host's threads. Such a device counts only
    where no other device works.
    """

    def devices(self, recorded: RecordedHost) -> tuple[Device, ...]:
        """The host's devices of this kind, by number; those without any event
        included.
        """
        raise NotImplementedError

    def on_own_clock(self, trace: HostTrace) -> HostTrace:
        """The trace with this kind's events on the devices' own clock; the same trace
        where they have none.
        """
        return trace

    def holds_programs(self, plane: str, line: str) -> bool:
        """Whether the events of a line are executions of whole programs, by which steps
        can be found.
        """
        return False

    def peaks(self, properties: Properties) -> Peaks:
        """What a device with these properties could do at most."""
        return UNKNOWN


class DeviceOfPlanes(DevicePlatform):
    """A kind whose devices have planes of their own. Names are as the runtime wrote
    them.
    """

    @property
    def label(self) -> str:
        """How its devices are called in the report, before their number, and in the
        names of planes: `GPU` for `GPU:0`.
        """
        return self.kind.label

    def number(self, plane: str) -> int | None:
        """The number of the device whose plane this is, `/device:GPU:3`, None for
        planes of others.
        """
        return device_number(plane, self.label)

    def holds_work(self, line: str, line_id: int) -> bool:
        """Whether a line holds what the device ran; others repeat it or sum it up."""
        raise NotImplementedError

    def part_of_line(self, line: str) -> Callable[[str], bool] | None:
        """Of a line that holds other things too: which names are work. None for all
        other lines.
        """
        return None

    def waits_on_line(self, line: str) -> Callable[[str], bool] | None:
        """Of a line of regions inside of ops: by which names kernels wait for their own
        copies. None for all other lines.
        """
        return None

    def class_of(self, trace: HostTrace, row: int) -> DeviceClass:
        """What the device does in an event of this name. row: into the trace's
        names.
        """
        raise NotImplementedError

    def runs_others(self, name: str) -> bool:
        """Whether an event of this name may be a loop, a branch or a call, which covers
        the events of its body.
        """
        return False

    def programs(
        self,
        trace: HostTrace,
        events: Int64Array,
        row: Int32Array,
    ) -> tuple[Int64Array, BoolArray]:
        """(id of the program that each event belongs to, whether it has one). row: of
        each event's name.
        """
        raise NotImplementedError

    def stated(self, trace: HostTrace, rows: Iterable[int]) -> Stated:
        """What the profiler says of ops. rows: of their names."""
        return {}

    def copies(
        self,
        trace: HostTrace,
        events: Int64Array,
        kind: Int8Array,
        launch_row: Int32Array,
    ) -> Copies:
        """What the trace says of copies. kind: a DeviceClass by name alone. launch_row:
        of the launching call's name, -1 where none is known."""
        raise NotImplementedError

    def model(self, properties: Properties) -> str:
        """What the device calls itself, "" where the plane does not say."""
        raise NotImplementedError


class Copies(msgspec.Struct, frozen=True):
    """What is known of each event as a copy, shape (events,)."""

    kind: Int8Array
    """A DeviceClass: that of the event's name, or of a copy without a direction what
    the launching call says.
    """
    bytes: Int64Array
    """-1 where the trace does not say, and for all that is no copy."""
    memory: Int8Array
    """A HostMemory."""


# What a device could do at most, arithmetic and memory bandwidth, where its plane
# states both.


class Peaks(msgspec.Struct, frozen=True):
    """Of one device."""

    flops: float | None
    """16-bit matrix operations per second, None when unknown."""
    bytes_per_s: float | None
    """Of device memory, None when unknown."""
    fp8_flops: float | None = None
    """Matrix operations per second in 8-bit floats, None when unknown."""
    tf32_flops: float | None = None
    """Matrix operations per second in fp32 rounded to TF32, None when unknown."""
    fp32_flops: float | None = None
    """Matrix operations per second in fp32, None when unknown."""


UNKNOWN = Peaks(None, None)


def stated_peaks(properties: Mapping[str, float | int | str]) -> Peaks | None:
    """As TPU planes state them; None where a plane states none."""
    flops = number(properties, stats.PEAK_TERAFLOPS_PER_SECOND)
    if not flops:
        return None
    bandwidth = number(properties, stats.PEAK_HBM_GIGABYTES_PER_SECOND)
    return Peaks(flops * 1e12, bandwidth * 1e9 if bandwidth else None)


def peaks_of_model(name: str) -> Peaks | None:
    """As its maker states them; None for a model that is not known."""
    model = known_model(name)
    if model is None:
        return None
    bf16, fp8, tf32, fp32 = (
        None if rate is None else rate * 1e12
        for rate in (model.bf16, model.fp8, model.tf32, model.fp32)
    )
    bandwidth = None if model.bandwidth is None else model.bandwidth * 1e9
    return Peaks(
        bf16,
        bandwidth,
        fp8_flops=fp8,
        tf32_flops=tf32,
        fp32_flops=fp32,
    )


def number(properties: Mapping[str, float | int | str], name: str) -> float | None:
    """One property as a number; None where it is missing or a text."""
    value = properties.get(name)
    return float(value) if isinstance(value, int | float) else None
