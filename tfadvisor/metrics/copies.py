"""Copies between host and devices, and on devices: time and bytes a step."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import (
    accelerators,
    counted_hosts,
    counted_ps,
    covered_per_step,
    device_steps,
    gpus,
    needs_device,
    needs_steps,
    share,
)
from tfadvisor.timeline.classes import DeviceClass
from tfadvisor.timeline.device_summary import CopyTotals
from tfadvisor.timeline.model import TimeClass
from tfadvisor.units import PS_PER_MS, Unit


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


@metric(
    "pageable_copy_share",
    unit=Unit.FRACTION,
    about="Share of the copies between host and device that touch pageable host memory, by number, of those whose details "
    "say. The driver copies such memory twice, and the host waits for it.",
)
def pageable_copy_share(question: Question) -> float:
    """Pinned memory is copied at the link's speed, beside computation."""
    totals = [one for kind in (DeviceClass.H2D, DeviceClass.D2H) for one in _totals(question, kind)]
    known = sum(one.pageable + one.pinned for one in totals)
    if not known:
        raise MetricAbsent("no copy of a counted step says what kind of host memory it touches")
    return sum(one.pageable for one in totals) / known


def _only_copying(question: Question) -> dict[str, float]:
    """The share of step time in which devices only copy, by direction: in proportion to their copies' time, hidden or not."""
    only_copying = share(question, TimeClass.TRANSFER)
    time = {
        "in": _milliseconds(question, DeviceClass.H2D),
        "out": _milliseconds(question, DeviceClass.D2H),
        "within": _milliseconds(question, DeviceClass.D2D) + _milliseconds(question, DeviceClass.P2P),
    }
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
    hosts = counted_hosts(question.run)
    handed = sum(host.handing_ps for host in hosts) / max(sum(map(counted_ps, hosts)), 1)
    return min(handed, share(question, TimeClass.LAUNCH))
