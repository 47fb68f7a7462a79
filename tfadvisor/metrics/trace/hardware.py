"""What the run had: hosts, devices, the GPU's generation and maker."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import counted_hosts, gpus, needs_device
from tfadvisor.units import Unit


@metric("host_count", unit=Unit.COUNT, about="Hosts with devices that work.")
def host_count(question: Question) -> float:
    """Coordinators and input workers left out."""
    needs_device(question.run)
    return float(sum(bool(host.devices) for host in counted_hosts(question.run)))


@metric(
    "devices_per_host",
    unit=Unit.COUNT,
    about="Devices that work, of the host that has most; one file of a trace is one host.",
)
def devices_per_host(question: Question) -> float:
    """Where each GPU has a process of its own, each writes a trace of its own."""
    needs_device(question.run)
    return float(max(len(host.devices) for host in counted_hosts(question.run)))


@metric(
    "compute_capability",
    unit=Unit.COUNT,
    about="CUDA compute capability of the oldest NVIDIA GPU that works: 7 is Volta, 8 Ampere, 9 Hopper, 10 Blackwell.",
)
def compute_capability(question: Question) -> float:
    """`8.9`."""
    found = []
    for _, device in gpus(question.run):
        major, minor = (device.properties.get(f"compute_cap_{half}") for half in ("major", "minor"))
        if _vendor(device.properties.get("device_vendor")) == "nvidia" and isinstance(major, int):
            found.append(major + (minor if isinstance(minor, int) else 0) / 10)
    if not found:
        raise MetricAbsent("the trace does not name the compute capability of an NVIDIA GPU")
    return min(found)


@fact("gpu_vendor", about="Who made the GPUs of the run.")
def gpu_vendor(question: Question) -> str:
    """nvidia, amd or another's name in lower case. Old traces name nobody: then it was NVIDIA."""
    return _vendor(gpus(question.run)[0][1].properties.get("device_vendor"))


@fact("device_model", about="The device's model, as the trace names it.")
def device_model(question: Question) -> str:
    """`NVIDIA H100`."""
    needs_device(question.run)
    model = next(device.model for host in counted_hosts(question.run) for device in host.devices)
    if not model:
        raise MetricAbsent("the trace does not name the device's model")
    return model


def _vendor(name: float | int | str | None) -> str:
    return "nvidia" if name is None else str(name).lower()
