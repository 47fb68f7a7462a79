"""How evenly the devices of a host share the work, and what they are."""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import (
    a_device,
    a_gpu,
    counted_hosts,
    gpus,
    hosts_of_several,
    known_steps,
)
from tfadvisor.tallies import added_up
from tfadvisor.timeline.devices import vendor
from tfadvisor.timeline.summary import HostSummary, HotOps
from tfadvisor.units import PS_PER_MS, Unit
from tfadvisor.vocabulary import Better, DeviceKind, TimeClass

_MOST = 0.8
_SEVERAL = 3
_NEARLY_ALL = 0.95
"""Share of the compute time that makes one program the step. Where fewer than so many
ops take nearly all of its time it is an op by itself.
"""


@metric(needs=(known_steps,))
def device_skew_fraction(question: Question) -> float:
    """Difference in compute time between the busiest and the least busy device of a
    host in the same step, as a share of step time; a mean over the counted steps in
    which several devices take part.
    """
    spread = time = 0
    for host in counted_hosts(question.run):
        if len(host.devices) > 1:
            shared = host.steps.steady() & (host.takes_part.sum(axis=0) > 1)
            works = host.takes_part[:, shared]
            compute = host.breakdown[:, shared, TimeClass.COMPUTE]
            least = np.where(works, compute, np.iinfo(np.int64).max).min(
                axis=0,
                initial=np.iinfo(np.int64).max,
            )
            spread += int(
                (np.where(works, compute, 0).max(axis=0, initial=0) - least).sum()
            )
            time += int((host.steps.ends - host.steps.starts)[shared].sum())
    if not time:
        raise MetricAbsent(
            "no host of this run has several devices that work in the same step"
        )
    return spread / time


@metric(needs=(known_steps,))
def op_count_skew(question: Question) -> float:
    """Difference in the number of ops between the devices of a host that run most and
    fewest in the counted steps, as a share of the larger number, on the worst host.
    Devices that run one program on equal shards run equally many.
    """
    hosts = hosts_of_several(question.run)
    counts = [
        [int(device.ops.count.sum()) for device in host.devices] for host in hosts
    ]
    found = [(max(count) - min(count)) / max(count) for count in counts if max(count)]
    if not found:
        raise MetricAbsent("no host of this run has several active devices")
    return max(found)


@fact(needs=(known_steps,))
def busiest_device(question: Question) -> str:
    """The device that computes most, on a host with several: `GPU:0 computes 8.1 ms per
    step, the others 5.0 ms on average`.
    """
    host = max(
        hosts_of_several(question.run),
        key=lambda candidate: float(np.ptp(_compute_ms(candidate))),
    )
    compute = _compute_ms(host)
    top = int(np.argmax(compute))
    rest = float(np.delete(compute, top).mean())
    name = host.devices[top].name
    where = f"{name} of {host.host}" if len(question.run.hosts) > 1 else name
    return (
        f"{where} computes {compute[top]:.3g} ms per step, the others {rest:.3g} ms "
        "on average"
    )


def _compute_ms(host: HostSummary) -> np.ndarray:
    steady = host.steps.steady()
    return np.asarray(
        host.breakdown[:, steady, TimeClass.COMPUTE].mean(axis=1) / PS_PER_MS
    )


@metric(needs=(known_steps,), better=Better.MORE)
def device_concurrency_fraction(question: Question) -> float:
    """Device work of a host over the time in which any of its devices works, times the
    number of devices, on the worst host: 1 when all work at once, 1/n when n devices
    take turns.
    """
    several = hosts_of_several(question.run)
    found = [
        host.device_time.concurrency / len(host.devices)
        for host in several
        if host.device_time.concurrency
    ]
    if not found:
        raise MetricAbsent("no device works in a counted step")
    return min(found)


@metric(needs=(known_steps,))
def launch_stagger_fraction(question: Question) -> float:
    """Delay between the first and the last device of a host in beginning a step, as a
    share of step time; a mean over the counted steps. Host threads that contend launch
    to one device after the other.
    """
    spread = time = 0
    for host in counted_hosts(question.run):
        if len(host.devices) > 1:
            first = np.stack([device.first_start for device in host.devices])[
                :, host.steps.steady()
            ]
            complete = (first >= 0).all(axis=0)
            spread += int((first.max(axis=0) - first.min(axis=0))[complete].sum())
            time += int(
                (host.steps.ends - host.steps.starts)[host.steps.steady()][
                    complete
                ].sum()
            )
    if not time:
        raise MetricAbsent(
            "no host of this run has several devices that work in the same step"
        )
    return spread / time


# What the run had: hosts, devices, the GPU's generation and maker.


@metric(unit=Unit.COUNT, needs=(a_device,), better=Better.NEITHER)
def devices_per_host(question: Question) -> float:
    """Number of devices that work, on the host that has most. Each file of a trace
    counts as a host.
    """
    return float(max(len(host.devices) for host in counted_hosts(question.run)))


@metric(unit=Unit.COUNT, needs=(a_gpu,), better=Better.NEITHER)
def compute_capability(question: Question) -> float:
    """CUDA compute capability of the oldest NVIDIA GPU that works, `8.9`: 7 is Volta, 8
    Ampere, 9 Hopper, 10 Blackwell.
    """
    found = []
    for _, device in gpus(question.run):
        major, minor = (
            device.properties.get(f"compute_cap_{half}") for half in ("major", "minor")
        )
        if vendor(device.properties) == "nvidia" and isinstance(major, int):
            found.append(major + (minor if isinstance(minor, int) else 0) / 10)
    if not found:
        raise MetricAbsent(
            "the trace does not name the compute capability of an NVIDIA GPU"
        )
    return min(found)


_AMPERE = 8
"""Tensor Cores multiply bfloat16 from this compute capability on (NVIDIA's CUDA
programming guide, arithmetic throughput).
"""


@fact
def sixteen_bit_type(question: Question) -> str:
    """What to multiply in 16 bits: `float16` on NVIDIA GPUs before Ampere, whose Tensor
    Cores know no other such type, else `bfloat16`.
    """
    try:
        return "float16" if compute_capability(question) < _AMPERE else "bfloat16"
    except MetricAbsent:
        return "bfloat16"


@fact
def gpu_vendor(question: Question) -> str:
    """Vendor of the run's GPUs, in lower case: nvidia, amd or another. Old traces name
    none, and then it is nvidia.
    """
    return vendor(gpus(question.run)[0][1].properties)


_ALIKE = 0.5
"""Devices of one strategy run the same kernels; of the parts of one model, others."""


@fact
def replicas(question: Question) -> str:
    """What the devices of one TensorFlow process run: `several` where ops have the name
    of a second replica, or several GPUs run the same kernels; `parts` where they run
    other ones; else `one`.
    """
    if question.run.hosts[0].capture.framework != "tensorflow":
        raise MetricAbsent("replicas of one process are TensorFlow's")
    hosts = question.run.hosts
    if any(host.evidence.libraries.replica for host in hosts):
        return "several"
    kinds = {_alike(host) for host in hosts}
    return next((kind for kind in ("several", "parts") if kind in kinds), "one")


def _alike(host: HostSummary) -> str:
    """Whether a host's GPUs run the same kernels."""
    ran = [
        {device.ops.names[row] for row in device.ops.name.tolist()}
        for device in host.devices
        if device.kind is DeviceKind.GPU
    ]
    if len(ran) < 2:
        return "one"
    shared = set.intersection(*ran)
    return "several" if len(shared) >= _ALIKE * max(map(len, ran)) else "parts"


def _is_of_one_program(found: HotOps) -> bool:
    """Whether most of the compute time is that of one program of several ops: not of
    ops that Python dispatches one by one.
    """
    time = added_up((op.module, op.total_ps) for op in found.ops)
    top = max(time, key=time.__getitem__, default="")
    few = [op.total_ps for op in found.ops if op.module == top][: _SEVERAL - 1]
    several = sum(few) < _NEARLY_ALL * time.get(top, 0)
    return several and time[top] >= _MOST * found.compute_ps


@fact
def workload(question: Question) -> str:
    """`inference` where the compiled functions are named for it (decode, prefill,
    predict) or the hottest program updates none of its arguments, by the trace's HLO;
    else `unknown`: training, or what nobody can tell.
    """
    programs = [
        host.program.hot_ops for host in question.run.hosts if host.program is not None
    ]
    updates_nothing = any(
        program.updates_nothing and _is_of_one_program(program) for program in programs
    )
    named = any(host.capture.workload == "inference" for host in question.run.hosts)
    return "inference" if named or updates_nothing else "unknown"


@fact(needs=(a_device,))
def slices_network(question: Question) -> str:
    """`used` where hosts send for their TPUs over the network between slices
    (MegaScale), else `not used`.
    """
    if any(host.capture.between_slices for host in question.run.hosts):
        return "used"
    return "not used"
