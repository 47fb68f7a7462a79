"""Matrix products: how many of what size an instruction does, and what its operands are
made of.

Source: `DotDimensionNumbers` and `RaggedDotDimensionNumbers` in openxla/xla,
xla/xla_data.proto. A library call keeps the same numbers as JSON in its backend_config,
integers as text (`GemmBackendConfig` in xla/service/gpu/backend_configs.proto).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod

import msgspec

from tfadvisor.program.flow import Users, inside
from tfadvisor.program.module import Instruction
from tfadvisor.program.shape import MOST_COUNTED, Shape
from tfadvisor.program.wire import message_of, numbers_of

_DOT = 30
_RAGGED = 90
_DOTS = frozenset(("dot", "ragged-dot", "scaled-dot"))
_LIBRARY = ("__cublas$gemm", "__cublas$lt$matmul")


class DotSize(msgspec.Struct, frozen=True):
    """batch products of an m×k by a k×n matrix. lhs_dtype: of what is multiplied."""

    batch: int
    m: int
    n: int
    k: int
    lhs_dtype: str

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each of batch·m·n·k; of complex numbers
        as many, as XLA counts them.
        """
        return min(2 * self.batch * self.m * self.n * self.k, MOST_COUNTED)


class DotNumbers(msgspec.Struct, frozen=True):
    """Which dimensions of the two operands are summed over, which number the products,
    which tell groups apart.
    """

    lhs_contracting: tuple[int, ...]
    rhs_contracting: tuple[int, ...]
    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]
    rhs_groups: tuple[int, ...]


@lru_cache(maxsize=1 << 12)  # costs, types and tables ask it of the same
def dot_size(instruction: Instruction) -> DotSize | None:
    """Of a dot, or of a library call that stands for one; None for anything else, or
    when the call does not say.

    In a ragged dot each row meets one group's matrix, so groups do not multiply the
    work. Raises TraceError when a dimension is named that an operand does not have.
    """
    dimensions = dot_numbers(instruction)
    if dimensions is None:
        return None
    operands = instruction.operand_ids
    if len(operands) < 2:
        raise instruction.damaged("has no two operands")
    lhs, rhs = (
        instruction.computation.by_id(operand).shape for operand in operands[:2]
    )
    left = (*dimensions.lhs_contracting, *dimensions.lhs_batch)
    right = (*dimensions.rhs_contracting, *dimensions.rhs_batch, *dimensions.rhs_groups)
    if not (_has(lhs, left) and _has(rhs, right)):
        raise instruction.damaged("multiplies dimensions that its operands do not have")
    return DotSize(
        prod(lhs.dims[dimension] for dimension in dimensions.lhs_batch),
        prod(size for dimension, size in enumerate(lhs.dims) if dimension not in left),
        prod(size for dimension, size in enumerate(rhs.dims) if dimension not in right),
        prod(lhs.dims[dimension] for dimension in dimensions.lhs_contracting),
        lhs.dtype,
    )


def dot_numbers(instruction: Instruction) -> DotNumbers | None:
    """Of a dot, or of a library call that notes them; None for anything else. Raises
    TraceError for damaged bytes.
    """
    if instruction.opcode in _DOTS:
        return _of_dot(instruction)
    return _of_library_call(instruction)


def _of_dot(instruction: Instruction) -> DotNumbers:
    proto = instruction.proto
    ragged = message_of(proto, instruction.fields, _RAGGED)
    if ragged:
        numbers = message_of(proto, ragged, 1)
    else:
        numbers = message_of(proto, instruction.fields, _DOT)
    left, right, left_batch, right_batch = (
        numbers_of(proto, numbers, field) for field in (1, 2, 3, 4)
    )
    return DotNumbers(
        left,
        right,
        left_batch,
        right_batch,
        numbers_of(proto, ragged, 3),
    )


def _of_library_call(instruction: Instruction) -> DotNumbers | None:
    if (
        instruction.opcode != "custom-call"
        or not instruction.custom_call_target.startswith(_LIBRARY)
    ):
        return None
    config = instruction.config()
    product = config.get(
        "gemm_backend_config",
        config,
    )  # before 2024 the product's own config stood alone
    if isinstance(product, Mapping):
        numbers = product.get("dot_dimension_numbers")
    else:
        numbers = None
    if not isinstance(numbers, Mapping):
        return None
    try:
        left, right, left_batch, right_batch = (
            tuple(int(dimension) for dimension in numbers.get(f"{side}_dimensions", ()))
            for side in ("lhs_contracting", "rhs_contracting", "lhs_batch", "rhs_batch")
        )
    except (TypeError, ValueError, OverflowError):
        return None
    return DotNumbers(left, right, left_batch, right_batch, ())


def _has(shape: Shape, dimensions: tuple[int, ...]) -> bool:
    """Each named once, and there: what is multiplied below stays a number of sensible
    size.
    """
    return len(set(dimensions)) == len(dimensions) and all(
        0 <= dimension < len(shape.dims) for dimension in dimensions
    )


# Matrix products as a trace shows them: dots, library calls, and fusions around a dot;
# which of them share an operand.

_MAYBE = frozenset(("dot", "ragged-dot", "scaled-dot", "custom-call"))
_FLOATS = ("f", "bf")
"""What the names of floating-point types begin with."""


def products(instruction: Instruction) -> tuple[DotSize, ...]:
    """Of an instruction and what it fuses; empty when it multiplies no matrices. Raises
    TraceError for damaged bytes.
    """
    sizes = (dot_size(part) for part in inside(instruction) if part.opcode in _MAYBE)
    return tuple(size for size in sizes if size is not None)


def multiplied_type(instruction: Instruction) -> str:
    """Type of what a product, a convolution or a custom kernel multiplies; "" where it
    has none, or several.

    Raises TraceError for damaged bytes.
    """
    found = {size.lhs_dtype for size in products(instruction)}
    for part in inside(instruction) if not found else ():
        if part.opcode in ("convolution", "custom-call") and part.operand_ids:
            types = [operand.shape.dtype for operand in part.operands]
            found.update([dtype for dtype in types if dtype.startswith(_FLOATS)][:1])
    return found.pop() if len(found) == 1 else ""


def is_product(instruction: Instruction) -> bool:
    """Whether it multiplies matrices."""
    return instruction.opcode in ("dot", "fusion", "custom-call") and bool(
        products(instruction)
    )


def next_products(
    instruction: Instruction,
    users: Users,
    hops: int,
) -> bool:
    """Whether a product uses the result, at most so many instructions on."""
    waiting = [instruction]
    seen = {instruction.id}
    for _ in range(hops):
        following = []
        for before in waiting:
            for user in users.past_passing(before):
                if is_product(user):
                    return True
                if user.id not in seen:
                    seen.add(user.id)
                    following.append(user)
        waiting = following
    return False
