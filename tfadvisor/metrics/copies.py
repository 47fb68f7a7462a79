"""Copies between host and devices, and on devices: time and bytes a step."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import accelerators, covered_per_step, device_steps, needs_steps
from tfadvisor.timeline.classes import DeviceClass
from tfadvisor.timeline.device_summary import CopyTotals
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
    return sum(one.count for one in _totals(question, DeviceClass.D2H)) / max(device_steps(question.run), 1)
