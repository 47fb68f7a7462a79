"""Differences of all pairs of rows as one large array: `a[:, None, :] - b[None, :, :]`."""

from __future__ import annotations

from collections.abc import Iterable

from tfadvisor.hlo.format.module import Instruction

_RANK = 3
_LARGE = 1_000_000
"""Elements from which such an array is larger than any cache of a core."""


def differences_of_pairs(parts: Iterable[Instruction]) -> bool:
    """Whether an op subtracts rows from rows, each with each: both operands are broadcast, along different dimensions.

    Raises TraceError for damaged bytes.
    """
    return any(one.opcode == "subtract" and _is_large(one) and _crosses(one) for one in parts)


def _is_large(one: Instruction) -> bool:
    return len(one.shape.dims) >= _RANK and one.shape.elements >= _LARGE


def _crosses(one: Instruction) -> bool:
    left, right = one.operands[:2]
    if left.opcode != "broadcast" or right.opcode != "broadcast" or not (left.operand_ids and right.operand_ids):
        return False
    sizes = [operand.operands[0].shape.elements for operand in (left, right)]
    return min(sizes) > max(one.shape.dims[-1], 1) and max(sizes) < one.shape.elements
