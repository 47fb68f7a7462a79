"""Copies between host and devices, and on devices: time and bytes a step."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import (
    accelerators,
    counted_hosts,
    covered_per_step,
    device_steps,
    gpus,
    needs_device,
    needs_steps,
    of_counted_time,
    share,
)
from tfadvisor.timeline.host.costs import HostCost
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.summary.device import CopyTotals
from tfadvisor.units import PS_PER_MS, Unit
from tfadvisor.vocabulary import TimeClass


def _milliseconds(question: Question, kind: DeviceClass) -> float:
    needs_steps(question.run)
    return covered_per_step(question.run, accelerators(question.run), kind) / PS_PER_MS


def _totals(question: Question, kind: DeviceClass) -> list[CopyTotals]:
    needs_steps(question.run)
    return [device.copies[kind] for _, device in accelerators(question.run) if kind in device.copies]


def _bytes(question: Question, kind: DeviceClass) -> float:
    totals = _totals(question, kind)
    if any(one.unsized for one in totals):
        raise MetricAbsent("the trace does not say how large these copies are")
    return sum(one.bytes for one in totals) / max(device_steps(question.run), 1)


@metric(
    "h2d_ms_per_step", unit=Unit.MS, about="Time a step and device in which host-to-device copies run, hidden or not."
)
def h2d_ms_per_step(question: Question) -> float:
    """0 when the accelerator's trace holds no such copy."""
    return _milliseconds(question, DeviceClass.H2D)


@metric(
    "d2h_ms_per_step", unit=Unit.MS, about="Time a step and device in which device-to-host copies run, hidden or not."
)
def d2h_ms_per_step(question: Question) -> float:
    """0 when the accelerator's trace holds no such copy."""
    return _milliseconds(question, DeviceClass.D2H)


@metric(
    "d2d_ms_per_step", unit=Unit.MS, about="Time a step and device in which device-to-device copies run, hidden or not."
)
def d2d_ms_per_step(question: Question) -> float:
    """0 when the accelerator's trace holds no such copy."""
    return _milliseconds(question, DeviceClass.D2D)


@metric("h2d_bytes_per_step", unit=Unit.BYTES, about="Bytes a step and device copied from host to device.")
def h2d_bytes_per_step(question: Question) -> float:
    """From the copies' details."""
    return _bytes(question, DeviceClass.H2D)


@metric("d2h_bytes_per_step", unit=Unit.BYTES, about="Bytes a step and device copied from device to host.")
def d2h_bytes_per_step(question: Question) -> float:
    """From the copies' details."""
    return _bytes(question, DeviceClass.D2H)


@metric("d2d_bytes_per_step", unit=Unit.BYTES, about="Bytes a step and device copied within or between devices.")
def d2d_bytes_per_step(question: Question) -> float:
    """From the copies' details."""
    return _bytes(question, DeviceClass.D2D)


@metric(
    "d2h_copies_per_step",
    unit=Unit.COUNT,
    about="Device-to-host copies a step and device: each makes the host wait when it reads the value.",
)
def d2h_copies_per_step(question: Question) -> float:
    """A mean."""
    gpus(question.run)  # a TPU's line shows the start and the end of each copy as events of their own
    return sum(one.count for one in _totals(question, DeviceClass.D2H)) / max(device_steps(question.run), 1)


def _gigabytes_per_second(question: Question, kind: DeviceClass) -> float:
    moved, milliseconds = _bytes(question, kind), _milliseconds(question, kind)
    if not milliseconds:
        raise MetricAbsent("the counted steps hold no such copy")
    return moved / (milliseconds / 1e3) / 1e9


@metric("h2d_gb_s", unit=Unit.GB_S, about="Bytes of the host-to-device copies over the time in which any of them runs.")
def h2d_gb_s(question: Question) -> float:
    """PCIe 3 x16 reaches 12, PCIe 4 25, PCIe 5 50 GB/s from pinned memory."""
    return _gigabytes_per_second(question, DeviceClass.H2D)


@metric("d2h_gb_s", unit=Unit.GB_S, about="Bytes of the device-to-host copies over the time in which any of them runs.")
def d2h_gb_s(question: Question) -> float:
    """As h2d_gb_s."""
    return _gigabytes_per_second(question, DeviceClass.D2H)


@metric(
    "p2p_ms_per_step", unit=Unit.MS, about="Time a step and device in which copies between devices run, hidden or not."
)
def p2p_ms_per_step(question: Question) -> float:
    """0 when the accelerator's trace holds no such copy."""
    return _milliseconds(question, DeviceClass.P2P)


@metric("p2p_bytes_per_step", unit=Unit.BYTES, about="Bytes a step and device copied from one device to another.")
def p2p_bytes_per_step(question: Question) -> float:
    """From the copies' details."""
    return _bytes(question, DeviceClass.P2P)


def _host_copies(question: Question) -> list[CopyTotals]:
    return [one for kind in (DeviceClass.H2D, DeviceClass.D2H) for one in _totals(question, kind)]


@metric("host_copies_per_step", unit=Unit.COUNT, about="Copies between host and device a step and device, both ways.")
def host_copies_per_step(question: Question) -> float:
    """An input of a few arrays and a loss need fewer than ten."""
    return sum(one.count for one in _host_copies(question)) / max(device_steps(question.run), 1)


@metric("host_copy_bytes", unit=Unit.BYTES, about="Mean size of the copies between host and device.")
def host_copy_bytes(question: Question) -> float:
    """Of those whose details say how large they are."""
    found = _host_copies(question)
    sized = sum(one.count - one.unsized for one in found)
    if not sized:
        raise MetricAbsent("the trace does not say how large the copies are")
    return sum(one.bytes for one in found) / sized


@metric(
    "pageable_copy_share",
    unit=Unit.FRACTION,
    about="Share of the copies between host and device that touch pageable host memory, by number, of those whose details "
    "say. The driver copies such memory twice, and the host waits for it.",
)
def pageable_copy_share(question: Question) -> float:
    """Pinned memory is copied at the link's speed, beside computation."""
    totals = _host_copies(question)
    known = sum(one.pageable + one.pinned for one in totals)
    if not known:
        raise MetricAbsent("no copy of a counted step says what kind of host memory it touches")
    return sum(one.pageable for one in totals) / known


def _by_direction(question: Question) -> dict[str, int]:
    """How long copies run in the counted steps, hidden or not, ps: in (host to device), out (device to host) and within (on
    the device and between devices)."""
    needs_steps(question.run)
    covered = sum(device.covered_ps[host.steps.steady()].sum(axis=0) for host, device in accelerators(question.run))
    return {
        "in": int(covered[DeviceClass.H2D]),
        "out": int(covered[DeviceClass.D2H]),
        "within": int(covered[[DeviceClass.D2D, DeviceClass.P2P]].sum()),
    }


@fact("copy_direction", about="Where most of the copying time goes.")
def copy_direction(question: Question) -> str:
    """in (host to device), out (device to host) or within (on the device and between devices)."""
    time = _by_direction(question)
    if not any(time.values()):
        raise MetricAbsent("no copy of a counted step says from where to where")
    return max(time, key=lambda way: time[way])


@fact("copied_op", about="The op of the program that the longest copies belong to.")
def copied_op(question: Question) -> str:
    """`copy.5 of jit_train_step`."""
    time: dict[tuple[str, str], int] = {}
    for _, device in accelerators(question.run):
        ops = device.ops
        for kind in device.copies:
            for row in ops.of_class(kind).tolist():
                if ops.op[row] >= 0 and ops.module[row] >= 0:
                    key = ops.names[ops.op[row]], ops.names[ops.module[row]]
                    time[key] = time.get(key, 0) + int(ops.total_ps[row])
    if not time:
        raise MetricAbsent("the trace does not say which op a copy belongs to")
    op, module = max(time, key=lambda key: time[key])
    return f"{op} of {module}"


def _only_copying(question: Question) -> dict[str, float]:
    """The share of step time in which devices only copy, by direction: in proportion to their copies' time."""
    only_copying = share(question, TimeClass.TRANSFER)
    time = _by_direction(question)
    every = sum(time.values())
    if not every:
        return dict.fromkeys(time, 0.0)
    return {way: only_copying * one / every for way, one in time.items()}


def _hideable(question: Question) -> dict[str, float]:
    found = _only_copying(question)
    return {**found, "in": min(found["in"], share(question, TimeClass.COMPUTE))}


@metric(
    "hideable_copy_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which a device only copies and need not: copies to the device as far as there is computation "
    "to hide them behind, and all others, which can be left out.",
)
def hideable_copy_fraction(question: Question) -> float:
    """Shared out between the directions by their copies' time, hidden or not."""
    return sum(_hideable(question).values())


@fact("hideable_copies", about="Where most of the copying time goes that can be hidden or left out.")
def hideable_copies(question: Question) -> str:
    """in (host to device), out (device to host) or within (on the device and between devices)."""
    found = _hideable(question)
    if not any(found.values()):
        raise MetricAbsent("no device only copies")
    return max(found, key=lambda way: found[way])


@metric(
    "unhideable_copy_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which a device only copies from the host and would still if its computation ran meanwhile.",
)
def unhideable_copy_fraction(question: Question) -> float:
    """What hideable_copy_fraction leaves of transfer_fraction."""
    return max(_only_copying(question)["in"] - share(question, TimeClass.COMPUTE), 0.0)


@metric(
    "array_handing_fraction",
    unit=Unit.FRACTION,
    about="The part of kernel_launch_gap_fraction in which the thread that dispatches makes arrays of a device out of arrays "
    "of the host: JAX's `DevicePut`, which converts and copies each NumPy argument of a call.",
)
def array_handing_fraction(question: Question) -> float:
    """0 for a step that gets arrays of the device only."""
    needs_device(question.run)
    handed = of_counted_time(counted_hosts(question.run), lambda host: host.costs[HostCost.HANDING])
    return min(handed, share(question, TimeClass.LAUNCH))
