"""What the run had: hosts, devices, the GPU's generation and maker."""

from __future__ import annotations

from tfadvisor.metrics.needs import a_device, a_gpu
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import counted_hosts, gpus
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better


@metric(unit=Unit.COUNT, needs=(a_device,), better=Better.NEITHER)
def devices_per_host(question: Question) -> float:
    """Number of devices that work, on the host that has most. Each file of a trace counts as a host."""
    return float(max(len(host.devices) for host in counted_hosts(question.run)))


@metric(unit=Unit.COUNT, needs=(a_gpu,), better=Better.NEITHER)
def compute_capability(question: Question) -> float:
    """CUDA compute capability of the oldest NVIDIA GPU that works, `8.9`: 7 is Volta, 8 Ampere, 9 Hopper, 10 Blackwell."""
    found = []
    for _, device in gpus(question.run):
        major, minor = (device.properties.get(f"compute_cap_{half}") for half in ("major", "minor"))
        if _vendor(device.properties.get("device_vendor")) == "nvidia" and isinstance(major, int):
            found.append(major + (minor if isinstance(minor, int) else 0) / 10)
    if not found:
        raise MetricAbsent("the trace does not name the compute capability of an NVIDIA GPU")
    return min(found)


@fact
def gpu_vendor(question: Question) -> str:
    """Vendor of the run's GPUs, in lower case: nvidia, amd or another. Old traces name none, and then it is nvidia."""
    return _vendor(gpus(question.run)[0][1].properties.get("device_vendor"))


@fact(needs=(a_device,))
def device_model(question: Question) -> str:
    """The device's model, as the trace names it: `NVIDIA H100`."""
    model = next(device.model for host in counted_hosts(question.run) for device in host.devices)
    if not model:
        raise MetricAbsent("the trace does not name the device's model")
    return model


def _vendor(name: float | int | str | None) -> str:
    return "nvidia" if name is None else str(name).lower()
