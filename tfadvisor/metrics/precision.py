"""In which precision a GPU computes, and whether its Tensor Cores do.

Elementwise kernels that XLA generates never show their precision, so what is asked of
the model's arithmetic is asked of matrix kernels: products, convolutions and attention.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tfadvisor.metrics.kinds import known_ops, known_where, of_step_time
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_gpu, gpus, share
from tfadvisor.printable import short_kernel
from tfadvisor.tallies import added_up
from tfadvisor.timeline.devices import capability, number, vendor
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.device_events import is_whole_graph
from tfadvisor.timeline.names.kernels import (
    KernelKind,
    Precision,
    kernel_kind,
    kind_of_parts,
    precision_of_type,
)
from tfadvisor.timeline.names.models import has_tensor_cores
from tfadvisor.timeline.names.op_path import op_path
from tfadvisor.vocabulary import Better, Scatter, TimeClass

if TYPE_CHECKING:
    from tfadvisor.program.promoted import Promotion
    from tfadvisor.timeline.summary import HotOp

_MOSTLY = 0.5
_LOOPS = ("loop_", "wrapped_", "input_")
_COMPLEX = re.compile(r"[cz]gemm|fft2d_|gemm_complex|complex<|_c64_|_c32_")
"""Parts of the names of products in complex numbers, as of a convolution by Fourier
transform: no 16-bit type has them.
"""
_SHORTEST = 8
"""Tensor Cores take 8 values at once; a product with a shorter side leaves most of them
idle, in whatever type.
"""
_AMPERE = 8
_GFX9 = 9
_MI300 = 4
_GFX11 = 11
_NARROW = (
    *(Precision.BITS16, Precision.BF16, Precision.FP16),
    *(Precision.FP8, Precision.INT8, Precision.BELOW_8_BITS),
)


class _Kernels(msgspec.Struct, frozen=True):
    """What ran, each name sorted once. time: kind -> ps. slowest: kind -> the name that
    takes most of it.
    """

    time: Mapping[KernelKind, int]
    slowest: Mapping[KernelKind, str]

    def sum(self, chosen: Callable[[KernelKind], bool]) -> int:
        """Time of the kinds that are chosen, ps."""
        return sum(ps for kind, ps in self.time.items() if chosen(kind))


@once
def _kernels(question: Question) -> _Kernels:
    """Of all GPUs. Raises MetricAbsent when none runs in a counted step."""
    told = _known_by_hlo(question)
    rounds = rounds_to_tf32(gpus(question.run)[0][1].properties)
    without = _without_room(question) | _of_few_filters(question)

    def kind_of(name: str) -> KernelKind:
        kind = product_kind(name, told.get(name, Precision.UNKNOWN), rounds)
        unfit = kind.is_matrix and (
            name in without or _COMPLEX.search(name.lower()) is not None
        )
        if unfit:
            return kind_of_parts(
                kind.precision,
                True,
                kind.tensor_cores,
                is_vector=True,
            )
        return kind

    return _sorted(_kernel_time(question), kind_of)


def _kernel_time(question: Question) -> dict[str, int]:
    """Kernel name -> ps in the counted steps, over all GPUs. Raises MetricAbsent when
    there is none.
    """
    tables = (
        (device.ops, device.ops.of_class(DeviceClass.COMPUTE))
        for _, device in gpus(question.run)
    )
    time = added_up(
        (ops.names[row], ps)
        for ops, rows in tables
        for row, ps in zip(
            ops.name[rows].tolist(),
            ops.total_ps[rows].tolist(),
            strict=True,
        )
    )
    if not sum(time.values()):
        raise MetricAbsent("no kernel begins in a counted step")
    if sum(ps for name, ps in time.items() if is_whole_graph(name)) > _MOSTLY * sum(
        time.values()
    ):
        raise MetricAbsent("the trace holds whole CUDA graphs, not their kernels")
    return time


def _known_by_hlo(question: Question) -> dict[str, Precision]:
    """Matrix kernel -> what its op multiplies by the trace's HLO. A kernel of several
    ops of different types is left out.
    """
    found: dict[str, set[Precision]] = {}
    for host in question.run.hosts:
        for op in host.hot_ops:
            if (
                op.known is None
                or not op.known.multiplied
                or op.kernel.startswith(_LOOPS)
            ):
                continue  # a plain loop rounds nothing
            if op.known.products or kernel_kind(op.kernel).is_matrix:
                found.setdefault(op.kernel, set()).add(
                    precision_of_type(op.known.multiplied)
                )
    return {
        kernel: next(iter(types)) for kernel, types in found.items() if len(types) == 1
    }


def _without_room(question: Question) -> frozenset[str]:
    """Kernels all of whose products have a side too short for Tensor Cores, by the
    trace's HLO: six channels fill none.
    """
    found: dict[str, list[int]] = {}
    for host in question.run.hosts:
        for op in host.hot_ops:
            if op.known is not None:
                sides = [min(size.m, size.n, size.k) for size in op.known.products]
            else:
                sides = []
            found.setdefault(op.kernel, []).extend(sides or [_SHORTEST])
    return frozenset(
        kernel for kernel, sides in found.items() if max(sides) < _SHORTEST
    )


def _of_few_filters(question: Question) -> frozenset[str]:
    """Kernels that run in convolutions of too few filters alone, by the shapes that
    TensorFlow's allocators tell.
    """
    most: dict[str, int] = {}
    for host, device in gpus(question.run):
        ops, filters = device.ops, host.evidence.filters
        if not filters:
            continue
        for row in ops.of_class(DeviceClass.COMPUTE).tolist():
            path = op_path(ops.names[ops.path[row]]) if ops.path[row] >= 0 else None
            count = _SHORTEST if path is None else filters.get(path.layer, _SHORTEST)
            name = ops.names[ops.name[row]]
            most[name] = max(most.get(name, 0), count)
    return frozenset(name for name, count in most.items() if count < _SHORTEST)


def product_kind(
    kernel: str,
    multiplied: Precision,
    rounds: bool | None,
) -> KernelKind:
    """By the kernel's name; where that does not tell the precision of a product, by
    what the HLO says that it multiplies.

    rounds: whether fp32 becomes TF32, as in the compiler's own products by default;
    None where nobody knows.
    """
    kind = kernel_kind(kernel)
    if kind.precision is not Precision.UNKNOWN or multiplied is Precision.UNKNOWN:
        return kind
    if multiplied is not Precision.FP32:
        return kind_of_parts(multiplied, True, kind.tensor_cores)
    rounds = rounds and not kernel.startswith(_LOOPS)
    if rounds is None:
        return kind
    return kind_of_parts(Precision.TF32 if rounds else Precision.FP32, True, rounds)


def rounds_to_tf32(properties: Mapping[str, float | int | str]) -> bool | None:
    """Whether a GPU's product of fp32 is one of TF32 unless the program asks for more:
    on NVIDIA's since Ampere. None where the trace does not tell the generation."""
    major = properties.get("compute_cap_major")
    if vendor(properties) != "nvidia":
        return False
    return major >= _AMPERE if isinstance(major, int) and major > 0 else None


def _sorted(time: Mapping[str, int], kinds_of: Callable[[str], KernelKind]) -> _Kernels:
    names: dict[int, list[str]] = {}
    kinds: dict[int, KernelKind] = {}
    for name in time:
        kind = kinds_of(name)
        kinds[id(kind)] = (
            # equal kinds are one object; hashing ten thousands of them would take
            # longer
            kind
        )
        names.setdefault(id(kind), []).append(name)
    return _Kernels(
        time={
            kind: sum(time[name] for name in names[key]) for key, kind in kinds.items()
        },
        slowest={
            kind: max(names[key], key=time.__getitem__) for key, kind in kinds.items()
        },
    )


def _known(kernels: _Kernels) -> int:
    """Time of kernels of known precision, ps. Raises MetricAbsent when there is
    none.
    """
    known = kernels.sum(lambda kind: kind.precision is not Precision.UNKNOWN)
    if not known:
        raise MetricAbsent("neither names nor HLO show the precision of any kernel")
    return known


@metric(better=Better.MORE, scatter=Scatter.EXACT)
def fp16_kernel_share(question: Question) -> float:
    """Time of matrix and convolution kernels of 16 bits or fewer over the time of all
    kernels whose name shows their precision.
    """
    kernels = _kernels(question)
    known = _known(kernels)
    if not kernels.sum(lambda kind: kind.is_matrix):
        raise MetricAbsent("no kernel multiplies matrices or convolves")
    return (
        kernels.sum(lambda kind: kind.precision in _NARROW and kind.is_matrix) / known
    )


def fp64_kernel_share(question: Question) -> float:
    """Time of fp64 kernels, including elementwise ones, over the time of all kernels
    whose name shows their precision.
    """
    kernels = _kernels(question)
    return kernels.sum(lambda kind: kind.precision is Precision.FP64) / _known(kernels)


@metric(scatter=Scatter.EXACT)
def unknown_precision_share(question: Question) -> float:
    """Time of kernels whose name and HLO do not show their precision, over all kernel
    time. The elementwise kernels that XLA generates never show it.
    """
    kernels = _kernels(question)
    return kernels.sum(lambda kind: kind.precision is Precision.UNKNOWN) / kernels.sum(
        lambda _: True
    )


@metric(better=Better.NEITHER)
def matrix_kernel_share(question: Question) -> float:
    """Time of matrix and convolution kernels, including attention, over all kernel
    time.
    """
    kernels = _kernels(question)
    return kernels.sum(lambda kind: kind.is_matrix) / kernels.sum(lambda _: True)


@metric(scatter=Scatter.EXACT)
def unknown_matrix_precision_share(question: Question) -> float:
    """Time of matrix and convolution kernels whose name does not show their precision,
    over the time of all matrix and convolution kernels. XLA's own `gemm_fusion` kernels
    do not show it.
    """
    kernels = _kernels(question)
    matrix = kernels.sum(lambda kind: kind.is_matrix)
    if not matrix:
        raise MetricAbsent("no kernel is a matrix product or convolution by its name")
    return (
        kernels.sum(lambda kind: kind.is_matrix and kind.precision is Precision.UNKNOWN)
        / matrix
    )


@metric(better=Better.MORE, scatter=Scatter.EXACT)
def tensor_core_kernel_share(question: Question) -> float:
    """Time of kernels that use Tensor Cores (AMD: matrix cores) over the time of all
    matrix and convolution kernels whose name shows whether they do. Absent on GPUs
    without Tensor Cores.
    """
    kernels = _kernels(question)
    _needs_tensor_cores(question)
    known = kernels.sum(lambda kind: kind.is_matrix and kind.tensor_cores is not None)
    if not known:
        raise MetricAbsent("no matrix kernel's name shows whether it uses Tensor Cores")
    return (
        kernels.sum(lambda kind: kind.is_matrix and kind.tensor_cores is True) / known
    )


def _needs_tensor_cores(question: Question) -> None:
    """Raises MetricAbsent unless a GPU is known to have Tensor Cores, or AMD's matrix
    cores: by its generation, or because a kernel uses them."""
    used = any(kind.tensor_cores for kind in _kernels(question).time)
    if not used and not any(
        _has_tensor_cores(device.properties) for _, device in gpus(question.run)
    ):
        raise MetricAbsent("none of the GPUs is known to have Tensor Cores")


def _needs_precisions(question: Question) -> None:
    """Raises MetricAbsent when the precision of most of the matrix kernels' time is
    unknown.
    """
    is_matrix = any(kind.is_matrix for kind in _kernels(question).time)
    if is_matrix and unknown_matrix_precision_share(question) > _MOSTLY:
        raise MetricAbsent(
            "neither names nor HLO show the precision of most of the matrix kernels' "
            "time"
        )


def _has_tensor_cores(properties: Mapping[str, float | int | str]) -> bool:
    """NVIDIA since Volta but the GTX 16xx; AMD's gfx94x and gfx950 (MI300), and gfx11
    on. gfx90x is MI100 and MI200, but Vega 20 too.
    """
    known = capability(properties)
    if vendor(properties) == "nvidia":
        return _of_nvidia(properties) is not False
    return known[0] >= _GFX11 or (known[0] == _GFX9 and known[1] >= _MI300)


def _of_nvidia(properties: Mapping[str, float | int | str]) -> bool | None:
    """Whether an NVIDIA GPU has Tensor Cores, None where nobody knows."""
    name = str(properties.get(stats.GPU_DEVICE_NAME, ""))
    cores = number(properties, stats.CORE_COUNT)
    return has_tensor_cores(name, capability(properties), cores)


@fact(needs=(a_gpu,))
def tensor_cores(question: Question) -> str:
    """`yes` where every NVIDIA GPU of the run has Tensor Cores, `no` where one has
    none, as those before Volta and the GTX 16xx; else `unknown`.
    """
    found = [
        _of_nvidia(device.properties)
        for _, device in gpus(question.run)
        if vendor(device.properties) == "nvidia"
    ]
    if False in found:
        return "no"
    return "yes" if found and None not in found else "unknown"


class Slow(NamedTuple):
    """Kinds of matrix kernels that a narrower type, or Tensor Cores, would make faster.

    fraction, kernel, share: names of the metrics, and of the fact for the slowest one;
    no share for "". about: as in `Time of …`. wanted: whether a kind counts. needs:
    what must be known.
    """

    fraction: str
    kernel: str
    share: str
    about: str
    wanted: Callable[[KernelKind], bool]
    needs: tuple[Callable[[Question], None], ...]


def _idle_cores(*precisions: Precision) -> Callable[[KernelKind], bool]:
    return lambda kind: (
        kind.is_matrix
        and not kind.is_vector
        and kind.tensor_cores is False
        and kind.precision in precisions
    )


SLOW = (
    Slow(
        "fallback_kernel_fraction",
        "fallback_kernel",
        "",
        "matrix and convolution kernels of 16 bits or fewer that leave the Tensor "
        "Cores idle, on GPUs that have them",
        _idle_cores(*_NARROW),
        (_needs_tensor_cores,),
    ),
    Slow(
        "fp32_matrix_compute_fraction",
        "slowest_fp32_kernel",
        "fp32_matrix_share",
        "fp32 matrix and convolution kernels that leave the Tensor Cores idle, on "
        "GPUs that have them",
        _idle_cores(Precision.FP32),
        (_needs_tensor_cores, _needs_precisions),
    ),
    Slow(
        "tf32_matrix_compute_fraction",
        "slowest_tf32_kernel",
        "tf32_matrix_share",
        "matrix and convolution kernels that multiply fp32 numbers, rounded to TF32 "
        "or on AMD's matrix cores, by names or HLO",
        lambda kind: (
            kind.is_matrix
            and (
                kind.precision is Precision.TF32
                or (kind.precision is Precision.FP32 and kind.tensor_cores is True)
            )
        ),
        (_needs_precisions,),
    ),
)


def _register(slow: Slow) -> None:
    def kernel_share(question: Question) -> float:
        for need in slow.needs:
            need(question)
        kernels = _kernels(question)
        return kernels.sum(slow.wanted) / kernels.sum(lambda _: True)

    def fraction(question: Question) -> float:
        return kernel_share(question) * share(question, TimeClass.COMPUTE)

    def slowest(question: Question) -> str:
        kernels = _kernels(question)
        found = {
            name: kernels.time[kind]
            for kind, name in kernels.slowest.items()
            if slow.wanted(kind)
        }
        if not found:
            raise MetricAbsent(f"no kernel is among {slow.about}")
        return _with_place(question, max(found, key=found.__getitem__))

    fraction.__name__ = slow.fraction
    fraction.__doc__ = f"Share of step time in {slow.about}."
    slowest.__name__ = slow.kernel
    slowest.__doc__ = f"The slowest of {slow.about}; its name is shortened."
    metric(fraction)
    fact(slowest)
    if slow.share:
        kernel_share.__name__ = slow.share
        kernel_share.__doc__ = f"Time of {slow.about}, over all kernel time."
        metric(scatter=Scatter.EXACT)(kernel_share)


for _slow in SLOW:
    _register(_slow)


def _with_place(question: Question, kernel: str) -> str:
    """Its short name, and the line that it comes from where the HLO tells."""
    for hot in (op for host in question.run.hosts for op in host.hot_ops):
        if hot.kernel == kernel and hot.known is not None and hot.known.file:
            return f"{short_kernel(kernel)} ({hot.known.file}:{hot.known.line})"
    return short_kernel(kernel)


# Where type promotion makes float32 of 16-bit numbers.

_MUCH = 0.1
"""Of the step: from there on the rules about such products speak."""


@once
def _promotion(question: Question) -> tuple[Promotion | None, list[HotOp]]:
    """That which most time of products follows from, and these; None for none. Raises
    MetricAbsent without HLO.
    """
    found: dict[Promotion, list[HotOp]] = {}
    for op in known_where(question, lambda known: bool(known.promoted)):
        for promotion in op.known.promoted if op.known is not None else ():
            found.setdefault(promotion, []).append(op)
    if not found:
        return None, []
    return max(found.items(), key=lambda item: sum(op.total_ps for op in item[1]))


@metric(needs=(a_gpu,))
def promoted_product_fraction(question: Question) -> float:
    """Share of step time in products of float32 that would take 16-bit numbers, but for
    one op that is given these beside float32 and makes float32 of both: of that op from
    which most follows, by the trace's HLO. On a CPU XLA itself converts what products
    take.
    """
    return of_step_time(question, _promotion(question)[1], known_ops(question))


@fact(needs=(a_gpu,))
def promoted_at(question: Question) -> str:
    """The line of the program that gives that op both, where the products take a tenth
    of the step: `Block.__call__ (model.py:31)`.
    """
    return _known_words(question).place


@fact(needs=(a_gpu,))
def promoted_by(question: Question) -> str:
    """What makes the float32 there: `embed (model.py:12)`, or an argument's name."""
    return _known_words(question).value


def _known_words(question: Question) -> Promotion:
    found, _ = _promotion(question)
    is_much = promoted_product_fraction(question) >= _MUCH
    if found is None or not is_much or not found.place or not found.value:
        raise MetricAbsent("no line is known that makes float32 of 16-bit numbers")
    return found
