"""Matrix products that suit the hardware badly: odd sides, double precision, many
zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.metrics.decompositions import factorises
from tfadvisor.metrics.kinds import (
    first_device_ops,
    hottest_ops,
    known_where,
    of_step_time,
)
from tfadvisor.metrics.layers import (
    ComputedOp,
    compute_fraction_of,
    named_by_tensorflow,
)
from tfadvisor.metrics.precision import fp64_kernel_share, unknown_precision_share
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import gpus, share, tpus
from tfadvisor.patterns import pattern
from tfadvisor.printable import short_kernel
from tfadvisor.timeline.summary import HotOp
from tfadvisor.vocabulary import DeviceKind, TimeClass

if TYPE_CHECKING:
    from tfadvisor.program.matrix_products import DotSize

_MULTIPLE = {
    **dict.fromkeys(("bf16", "f16"), 8),
    **dict.fromkeys(
        ("s8", "u8", "f8e4m3fn", "f8e5m2", "f8e4m3", "f8e4m3fnuz", "f8e5m2fnuz"),
        16,
    ),
}
"""By type: 16 bytes in a row are what Tensor Cores and the copies that feed them take
at once (TFG: 8 for fp16, 16 for int8).
"""
_SMALL = 64
"""A product with a shorter side is no work for Tensor Cores, aligned or not."""


def misaligned(size: DotSize) -> tuple[int, ...]:
    """The sides of a product that are no multiple of what its type wants; empty for
    fp32 and for small products.
    """
    multiple = _MULTIPLE.get(size.lhs_dtype, 1)
    sides = (size.m, size.n, size.k)
    if multiple == 1 or min(sides) < _SMALL:
        return ()
    return tuple(dict.fromkeys(side for side in sides if side % multiple))


@once
def misaligned_products(question: Question) -> list[HotOp]:
    """Of a GPU. Raises MetricAbsent where the trace holds no HLO of a matrix
    product.
    """
    gpus(question.run)
    ops = hottest_ops(question).ops
    if not any(op.known is not None and op.known.products for op in ops):
        raise MetricAbsent("the trace holds no HLO of a matrix product")
    return [
        op
        for op in ops
        if op.known is not None and any(misaligned(size) for size in op.known.products)
    ]


@fact
def misaligned_sides(question: Question) -> str:
    """Sides and type of the misaligned product that takes most time: `4093 × 4093 by
    4093 × 4093 in bf16`.
    """
    size = _first(question)
    return f"{size.m} × {size.k} by {size.k} × {size.n} in {size.lhs_dtype}"


@fact
def padded_sides(question: Question) -> str:
    """Sides to which to pad the misaligned product that takes most time: `4093 to
    4096`.
    """
    size = _first(question)
    multiple = _MULTIPLE[size.lhs_dtype]
    return ", ".join(
        f"{side} to {-(-side // multiple) * multiple}" for side in misaligned(size)
    )


def _first(question: Question) -> DotSize:
    for misaligned_product in misaligned_products(question):
        for size in (
            misaligned_product.known.products
            if misaligned_product.known is not None
            else ()
        ):
            if misaligned(size):
                return size
    raise MetricAbsent("the sides of all products suit Tensor Cores")


_LANES = 128
_SUBLANES = 8
_MATRIX_UNIT = 256
"""A TPU stores matrices in tiles of 8 by 128 elements; the matrix unit is as wide since
v6e, half before.
"""
_WIDE_UNIT = ("v6", "v7", "7x")


@once
def _padding(question: Question) -> list[tuple[HotOp, DotSize, float]]:
    """The products of a TPU that it pads, with the share of their time that goes into
    padding at best. Raises MetricAbsent.
    """
    device = tpus(question.run)[0][1]
    if any(word in device.model.lower() for word in _WIDE_UNIT):
        width = _MATRIX_UNIT
    else:
        width = _LANES
    ops = [
        op
        for op in hottest_ops(question).ops
        if op.known is not None and op.known.products
    ]
    if not ops:
        raise MetricAbsent("the trace holds no HLO of a matrix product")
    found = []
    for op in ops:
        size = max(
            op.known.products if op.known is not None else (),
            key=lambda size: size.flops,
        )
        padded = _up(size.m, _SUBLANES) * _up(size.n, width) * _up(size.k, width)
        if min(size.m, size.n, size.k) >= _SMALL and padded > size.m * size.n * size.k:
            found.append((op, size, 1 - size.m * size.n * size.k / padded))
    return found


def _up(side: int, multiple: int) -> int:
    return -(-side // multiple) * multiple


@metric
def padding_fraction(question: Question) -> float:
    """Share of step time in which a TPU multiplies nothing but padding: it rounds the
    sides of a product up to 8 or to the width of its matrix unit, 128 (256 since v6e);
    from the trace's HLO, or shapes and operations that the profiler states. Products
    with a side below 64 do not count.
    """
    found = _padding(question)
    every = hottest_ops(question)
    lost = sum(op.total_ps * share_lost for op, _, share_lost in found)
    return lost / every.compute_ps * share(question, TimeClass.COMPUTE)


@fact
def padded_product(question: Question) -> str:
    """The product of which padding takes most time, with its sides: `dot.4: 8193 × 8193
    by 8193 × 8193`.
    """
    op, size = _most_padded(question)
    return f"{short_kernel(op.name())}: {size.m} × {size.k} by {size.k} × {size.n}"


@fact
def padded_product_place(question: Question) -> str:
    """The same product with its place in the user's program: `dot.4 (train.py:42)`."""
    place = _most_padded(question)[0].place()
    if not place:
        raise MetricAbsent(
            "the trace holds no HLO that says where this product comes from"
        )
    return place


def _most_padded(question: Question) -> tuple[HotOp, DotSize]:
    found = _padding(question)
    if not found:
        raise MetricAbsent("no product's sides need padding")
    op, size, _ = max(found, key=lambda each: each[0].total_ps * each[2])
    return op, size


# Work in 64-bit floats, which networks hardly ever need.


def _double(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: known.double)


_ASKS_FOR_DOUBLE = pattern(
    r"set_floatx\(\s*['\"]float64|\bset_(?:dtype_|global_)?policy\(\s*['\"]float64"
)
"""How a program asks Keras to compute in them throughout."""
_PRODUCTS = pattern(r"\A(?:MatMul|BatchMatMul\w*|Conv[23]D\w*|Einsum)\Z")
"""Types of TensorFlow's products; oneDNN's, of 32 bits and fewer, begin with _Mkl."""


@once
def _double_in_tensorflow(question: Question) -> tuple[ComputedOp, ...]:
    """Products on a CPU of a program that asks for 64-bit floats which oneDNN did not
    take: no trace of TensorFlow has an op's type of number. Raises MetricAbsent.
    """
    source = question.settings.source
    kinds = {device.kind for host in question.run.hosts for device in host.devices}
    is_cpu = kinds == {DeviceKind.CPU}
    if source is None or not is_cpu or not source.mentions(_ASKS_FOR_DOUBLE):
        return ()
    parts = named_by_tensorflow(question)
    return tuple(part for part in parts if _PRODUCTS.match(part.op_type))


@metric
def double_precision_fraction(question: Question) -> float:
    """Share of step time in which the first device runs ops on 64-bit floats, from the
    trace's HLO or, without it, on a GPU from the kernels' names; of TensorFlow on a CPU
    the products that oneDNN leaves, where the program's source asks for 64-bit floats.
    """
    if of_tensorflow := _double_in_tensorflow(question):
        return compute_fraction_of(question, of_tensorflow)
    found = first_device_ops(question)
    if any(op.known is not None for op in found.ops):
        return of_step_time(question, _double(question), found)
    of_all = fp64_kernel_share(question) * (1 - unknown_precision_share(question))
    return of_all * share(question, TimeClass.COMPUTE)


@fact
def double_precision_op(question: Question) -> str:
    """The op on 64-bit floats that takes most time: `dot.3`."""
    if of_tensorflow := _double_in_tensorflow(question):
        return of_tensorflow[0].name
    double = _double(question)
    if not double:
        raise MetricAbsent("no op computes in 64-bit floats")
    return short_kernel(double[0].name())


@metric
def double_factored_share(question: Question) -> float:
    """Share of the time of ops on 64-bit floats in those that factorise matrices or
    solve with factors, by their paths in JAX's HLO: LU, Cholesky, QR, singular values,
    eigenvalues, inverses, triangular systems. Such results may need 64 bits.
    """
    double = _double(question)
    if not double:
        raise MetricAbsent("no op computes in 64-bit floats")
    solving = (op for op in double if op.known and factorises(op.known.op_name))
    whole = sum(op.total_ps for op in double)
    return sum(op.total_ps for op in solving) / max(whole, 1)
