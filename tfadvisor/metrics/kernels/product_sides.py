"""Matrix products whose sides do not suit Tensor Cores or a TPU's matrix unit, and what to pad them to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.metrics.kernels.kinds import hottest_ops, name_of, of_step_time, place_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.metrics.steady import gpus, share, tpus
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    from tfadvisor.hlo.questions.dots import DotSize

_MULTIPLE = {
    **dict.fromkeys(("bf16", "f16"), 8),
    **dict.fromkeys(("s8", "u8", "f8e4m3fn", "f8e5m2", "f8e4m3", "f8e4m3fnuz", "f8e5m2fnuz"), 16),
}
"""By type: 16 bytes in a row are what Tensor Cores and the copies that feed them take at once (TFG: 8 for fp16, 16 for int8)."""
_SMALL = 64
"""A product with a shorter side is no work for Tensor Cores, aligned or not."""


def crooked(size: DotSize) -> tuple[int, ...]:
    """The sides of a product that are no multiple of what its type wants; empty for fp32 and for small products."""
    multiple = _MULTIPLE.get(size.lhs_dtype, 1)
    sides = (size.m, size.n, size.k)
    if multiple == 1 or min(sides) < _SMALL:
        return ()
    return tuple(dict.fromkeys(side for side in sides if side % multiple))


_LANES, _SUBLANES, _MATRIX_UNIT = 128, 8, 256
"""A TPU stores matrices in tiles of 8 by 128 elements; the matrix unit is as wide since v6e, half before."""
_WIDE_UNIT = ("v6", "v7", "7x")


@once
def _padding(question: Question) -> list[tuple[HotOp, DotSize, float]]:
    """The products of a TPU that it pads, with the share of their time that goes into padding at best. Raises MetricAbsent."""
    device = tpus(question.run)[0][1]
    width = _MATRIX_UNIT if any(word in device.model.lower() for word in _WIDE_UNIT) else _LANES
    ops = [one for one in hottest_ops(question).ops if one.known is not None and one.known.products]
    if not ops:
        raise MetricAbsent("the trace holds no HLO of a matrix product")
    found = []
    for one in ops:
        size = max(one.known.products if one.known is not None else (), key=lambda size: size.flops)
        padded = _up(size.m, _SUBLANES) * _up(size.n, width) * _up(size.k, width)
        if min(size.m, size.n, size.k) >= _SMALL and padded > size.m * size.n * size.k:
            found.append((one, size, 1 - size.m * size.n * size.k / padded))
    return found


def _up(side: int, multiple: int) -> int:
    return -(-side // multiple) * multiple


@metric(unit=Unit.FRACTION, better=Better.LESS)
def padding_fraction(question: Question) -> float:
    """Share of step time in which a TPU multiplies nothing but padding: it rounds the sides of a product up to 8 or to the width
    of its matrix unit, 128 (256 since v6e); from the trace's HLO. Products with a side below 64 do not count.
    """
    found, every = _padding(question), hottest_ops(question)
    lost = sum(one.total_ps * share_lost for one, _, share_lost in found)
    return lost / every.compute_ps * share(question, TimeClass.COMPUTE)


@fact
def padded_product(question: Question) -> str:
    """The product of which padding takes most time, with its sides: `dot.4: 8193 × 8193 by 8193 × 8193`."""
    one, size = _most_padded(question)
    return f"{one.name()}: {size.m} × {size.k} by {size.k} × {size.n}"


@fact
def padded_product_place(question: Question) -> str:
    """The same product with its place in the user's program: `dot.4 (train.py:42)`."""
    return place_of([_most_padded(question)[0]])


def _most_padded(question: Question) -> tuple[HotOp, DotSize]:
    found = _padding(question)
    if not found:
        raise MetricAbsent("no product's sides need padding")
    one, size, _ = max(found, key=lambda each: each[0].total_ps * each[2])
    return one, size


@once
def _crooked_ops(question: Question) -> list[HotOp]:
    gpus(question.run)
    ops = hottest_ops(question).ops
    if not any(one.known is not None and one.known.products for one in ops):
        raise MetricAbsent("the trace holds no HLO of a matrix product")
    return [one for one in ops if one.known is not None and any(crooked(size) for size in one.known.products)]


@metric(unit=Unit.FRACTION, better=Better.LESS)
def crooked_product_fraction(question: Question) -> float:
    """Share of step time in products of 16-bit matrices with a side that is not a multiple of 8, or of 8-bit matrices
    with a side that is not a multiple of 16; from the trace's HLO. Products with a side below 64 do not count.
    """
    return of_step_time(question, _crooked_ops(question))


@fact
def crooked_product_op(question: Question) -> str:
    """The unaligned product (crooked_product_fraction) that takes most time: `custom-call.3`."""
    return name_of(_crooked_ops(question))


@fact
def crooked_product_place(question: Question) -> str:
    """The unaligned product that takes most time, with its place in the user's program: `custom-call.3 (train.py:42)`."""
    return place_of(_crooked_ops(question))


@fact
def crooked_sides(question: Question) -> str:
    """Sides and type of the unaligned product that takes most time: `4093 × 4093 by 4093 × 4093 in bf16`."""
    size = _first(question)
    return f"{size.m} × {size.k} by {size.k} × {size.n} in {size.lhs_dtype}"


@fact
def straight_sides(question: Question) -> str:
    """Sides to which to pad the unaligned product that takes most time: `4093 to 4096`."""
    size = _first(question)
    multiple = _MULTIPLE[size.lhs_dtype]
    return ", ".join(f"{side} to {-(-side // multiple) * multiple}" for side in crooked(size))


def _first(question: Question) -> DotSize:
    for one in _crooked_ops(question):
        for size in one.known.products if one.known is not None else ():
            if crooked(size):
                return size
    raise MetricAbsent("the sides of all products suit Tensor Cores")
