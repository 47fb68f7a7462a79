"""What the run had: hosts, devices, the GPU's generation and maker."""

from __future__ import annotations

from tfadvisor.metrics.needs import a_device, a_gpu
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import counted_hosts, gpus
from tfadvisor.timeline.summary.hot_ops import HotOps
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_MOST, _SEVERAL = 0.8, 3


@metric(unit=Unit.COUNT, needs=(a_device,), better=Better.NEITHER)
def host_count(question: Question) -> float:
    """Number of hosts with devices that work. Coordinators and input workers do not count."""
    return float(sum(bool(host.devices) for host in counted_hosts(question.run)))


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


def _is_of_one_program(found: HotOps) -> bool:
    """Whether most of the compute time is that of one program of several ops: not of ops that Python dispatches one by one."""
    time: dict[str, int] = {}
    for one in found.ops:
        time[one.module] = time.get(one.module, 0) + one.total_ps
    top = max(time, key=lambda module: time[module], default="")
    several = sum(one.module == top for one in found.ops) >= _SEVERAL
    return bool(top) and several and time[top] >= _MOST * found.compute_ps


@fact
def workload(question: Question) -> str:
    """`inference` where the compiled functions are named for it (decode, prefill, predict) or the hottest program updates none
    of its arguments, by the trace's HLO; else `unknown`: training, or what nobody can tell.
    """
    programs = [host.program.hot_ops for host in question.run.hosts if host.program is not None]
    updates_nothing = any(one.updates_nothing and _is_of_one_program(one) for one in programs)
    named = any(host.capture.workload == "inference" for host in question.run.hosts)
    return "inference" if named or updates_nothing else "unknown"


@fact(needs=(a_device,))
def slices_network(question: Question) -> str:
    """`used` where hosts send for their TPUs over the network between slices (MegaScale), else `not used`."""
    return "used" if any(host.capture.between_slices for host in question.run.hosts) else "not used"


def _vendor(name: float | int | str | None) -> str:
    return "nvidia" if name is None else str(name).lower()
