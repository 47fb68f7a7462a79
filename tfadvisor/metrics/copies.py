"""Copies between host and devices, and on devices: time and bytes a step."""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.metrics.steady import accelerators, device_steps, in_windows, needs_steps, ps_per_step
from tfadvisor.timeline.classes import DeviceClass
from tfadvisor.units import PS_PER_MS, Unit


def _milliseconds(question: Question, kind: DeviceClass) -> float:
    needs_steps(question.run)
    sets = [(host, device.ops.covered(kind)) for host, device in accelerators(question.run)]
    return ps_per_step(question.run, sets) / PS_PER_MS


def _bytes(question: Question, kind: DeviceClass) -> float:
    needs_steps(question.run)
    total = 0
    for host, device in accelerators(question.run):
        chosen = (device.ops.kind == kind) & in_windows(host, device.ops.start)
        if (device.ops.bytes[chosen] < 0).any():
            raise MetricAbsent("the trace does not say how large these copies are")
        total += int(np.sum(device.ops.bytes[chosen]))
    return total / max(device_steps(question.run), 1)


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
    needs_steps(question.run)
    found = 0
    for host, device in accelerators(question.run):
        found += int(((device.ops.kind == DeviceClass.D2H) & in_windows(host, device.ops.start)).sum())
    return found / max(device_steps(question.run), 1)
