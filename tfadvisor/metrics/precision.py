"""In which precision a GPU computes, and whether its Tensor Cores do."""

from __future__ import annotations

from collections.abc import Callable

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import gpus, share
from tfadvisor.timeline.classes import DeviceClass
from tfadvisor.timeline.kernel_names import KernelKind, Precision, kernel_kind, short_name
from tfadvisor.timeline.model import TimeClass
from tfadvisor.units import Unit

_NARROW = (Precision.BITS16, Precision.BITS8)


def _kernel_time(question: Question) -> dict[str, int]:
    """Kernel name -> ps in the counted steps, over all GPUs. Raises MetricAbsent when there is none."""
    time: dict[str, int] = {}
    for _, device in gpus(question.run):
        ops, rows = device.ops, device.ops.of_class(DeviceClass.COMPUTE)
        for row, ps in zip(ops.name[rows].tolist(), ops.total_ps[rows].tolist(), strict=True):
            time[ops.names[row]] = time.get(ops.names[row], 0) + ps
    if not sum(time.values()):
        raise MetricAbsent("no kernel begins in a counted step")
    return time


def _sum(time: dict[str, int], chosen: Callable[[KernelKind], bool]) -> int:
    return sum(ps for name, ps in time.items() if chosen(kernel_kind(name)))


@metric(
    "fp16_kernel_share",
    unit=Unit.FRACTION,
    about="Time of 16-bit and 8-bit matrix and convolution kernels over the time of all kernels whose name tells their "
    "precision.",
)
def fp16_kernel_share(question: Question) -> float:
    """Absent when no kernel's name tells its precision."""
    time = _kernel_time(question)
    known = _sum(time, lambda kind: kind.precision is not Precision.UNKNOWN)
    if not known:
        raise MetricAbsent("no kernel's name tells its precision")
    return _sum(time, lambda kind: kind.precision in _NARROW and kind.is_matrix) / known


@metric(
    "unknown_precision_share",
    unit=Unit.FRACTION,
    about="Time of kernels whose name does not tell their precision, over all kernel time.",
)
def unknown_precision_share(question: Question) -> float:
    """How blind the precision metrics are."""
    time = _kernel_time(question)
    return _sum(time, lambda kind: kind.precision is Precision.UNKNOWN) / sum(time.values())


@metric(
    "tensor_core_kernel_share",
    unit=Unit.FRACTION,
    about="Time of kernels that use Tensor Cores over the time of matrix and convolution kernels of which the name tells.",
)
def tensor_core_kernel_share(question: Question) -> float:
    """Absent on GPUs without Tensor Cores and where no matrix kernel's name tells."""
    _needs_tensor_cores(question)
    time = _kernel_time(question)
    known = _sum(time, lambda kind: kind.is_matrix and kind.tensor_cores is not None)
    if not known:
        raise MetricAbsent("no matrix kernel's name tells whether it uses Tensor Cores")
    return _sum(time, lambda kind: kind.is_matrix and kind.tensor_cores is True) / known


@metric(
    "fp32_matrix_share",
    unit=Unit.FRACTION,
    about="Time of fp32 matrix and convolution kernels that leave the Tensor Cores idle, over all kernel time.",
)
def fp32_matrix_share(question: Question) -> float:
    """Only for GPUs that have Tensor Cores."""
    _needs_tensor_cores(question)
    time = _kernel_time(question)
    idle = _sum(time, lambda k: k.is_matrix and k.precision is Precision.FP32 and k.tensor_cores is not True)
    return idle / sum(time.values())


@metric(
    "fp32_matrix_compute_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in fp32 matrix and convolution kernels that leave the Tensor Cores idle.",
)
def fp32_matrix_compute_fraction(question: Question) -> float:
    """fp32_matrix_share of the time in which the devices compute."""
    return fp32_matrix_share(question) * share(question, TimeClass.COMPUTE)


def _needs_tensor_cores(question: Question) -> None:
    for _, device in gpus(question.run):
        vendor = str(device.properties.get("device_vendor", "Nvidia")).lower()
        major = device.properties.get("compute_cap_major")
        if vendor == "nvidia" and (major is None or (isinstance(major, int) and major >= 7)):
            return
    raise MetricAbsent("none of the GPUs is known to have Tensor Cores")


@fact("slowest_fp32_kernel", about="The fp32 matrix kernel that takes most time.")
def slowest_fp32_kernel(question: Question) -> str:
    """Its name, shortened."""
    time = {
        name: ps
        for name, ps in _kernel_time(question).items()
        if (kind := kernel_kind(name)).is_matrix and kind.precision is Precision.FP32 and not kind.tensor_cores
    }
    if not time:
        raise MetricAbsent("no matrix kernel is known to compute in fp32")
    return short_name(max(time, key=lambda name: time[name]))
