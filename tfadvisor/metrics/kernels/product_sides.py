"""Matrix products whose sides do not suit Tensor Cores, and what to pad them to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.metrics.kernels.kinds import hottest_ops
from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.summary.hot_ops import HotOp

if TYPE_CHECKING:
    from tfadvisor.hlo.questions.dots import DotSize

_MULTIPLE = {
    **dict.fromkeys(("bf16", "f16"), 8),
    **dict.fromkeys(("s8", "u8", "f8e4m3fn", "f8e5m2", "f8e4m3", "f8e4m3fnuz", "f8e5m2fnuz"), 16),
}
"""By type: 16 bytes in a row are what Tensor Cores and the copies that feed them take at once (TFG: 8 for fp16, 16 for int8)."""
_SMALL = 64
"""A product with a shorter side is no work for Tensor Cores, aligned or not."""


def misaligned(size: DotSize) -> tuple[int, ...]:
    """The sides of a product that are no multiple of what its type wants; empty for fp32 and for small products."""
    multiple = _MULTIPLE.get(size.lhs_dtype, 1)
    sides = (size.m, size.n, size.k)
    if multiple == 1 or min(sides) < _SMALL:
        return ()
    return tuple(dict.fromkeys(side for side in sides if side % multiple))


@once
def misaligned_products(question: Question) -> list[HotOp]:
    """Raises MetricAbsent where the trace holds no HLO of a matrix product."""
    ops = hottest_ops(question).ops
    if not any(one.known is not None and one.known.products for one in ops):
        raise MetricAbsent("the trace holds no HLO of a matrix product")
    return [one for one in ops if one.known is not None and any(misaligned(size) for size in one.known.products)]


@fact
def misaligned_sides(question: Question) -> str:
    """Sides and type of the misaligned product that takes most time: `4093 × 4093 by 4093 × 4093 in bf16`."""
    size = _first(question)
    return f"{size.m} × {size.k} by {size.k} × {size.n} in {size.lhs_dtype}"


@fact
def padded_sides(question: Question) -> str:
    """Sides to which to pad the misaligned product that takes most time: `4093 to 4096`."""
    size = _first(question)
    multiple = _MULTIPLE[size.lhs_dtype]
    return ", ".join(f"{side} to {-(-side // multiple) * multiple}" for side in misaligned(size))


def _first(question: Question) -> DotSize:
    for one in misaligned_products(question):
        for size in one.known.products if one.known is not None else ():
            if misaligned(size):
                return size
    raise MetricAbsent("the sides of all products suit Tensor Cores")
