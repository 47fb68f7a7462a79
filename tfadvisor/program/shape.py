"""Shapes of values: an array's type, dimensions and layout, or a tuple of shapes; and
how many bytes a type takes.

Source: `ShapeProto` and `LayoutProto` in openxla/xla, xla/xla_data.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import prod

import msgspec

from tfadvisor.program.wire import (
    Proto,
    entries,
    message_of,
    number_of,
    numbers_of,
    span,
)

# XLA's primitive types: their names and sizes.


# number -> (name as in HLO text, bits). Tuples, tokens and opaque values have no size
# of their own.
_TYPES: dict[int, tuple[str, int]] = {
    0: ("invalid", 0),
    1: ("pred", 8),
    2: ("s8", 8),
    3: ("s16", 16),
    4: ("s32", 32),
    5: ("s64", 64),
    6: ("u8", 8),
    7: ("u16", 16),
    8: ("u32", 32),
    9: ("u64", 64),
    10: ("f16", 16),
    11: ("f32", 32),
    12: ("f64", 64),
    13: ("tuple", 0),
    14: ("opaque", 0),
    15: ("c64", 64),
    16: ("bf16", 16),
    17: ("token", 0),
    18: ("c128", 128),
    19: ("f8e5m2", 8),
    20: ("f8e4m3fn", 8),
    21: ("s4", 4),
    22: ("u4", 4),
    23: ("f8e4m3b11fnuz", 8),
    24: ("f8e5m2fnuz", 8),
    25: ("f8e4m3fnuz", 8),
    26: ("s2", 2),
    27: ("u2", 2),
    28: ("f8e4m3", 8),
    29: ("f8e3m4", 8),
    30: ("s1", 1),
    31: ("u1", 1),
    32: ("f4e2m1fn", 4),
    33: ("f8e8m0fnu", 8),
    34: ("buffer", 0),
}


def dtype_name(number: int) -> str:
    """`f32`, `bf16`, `pred` …; `type 99` for one that is newer than this table."""
    return _TYPES[number][0] if number in _TYPES else f"type {number}"


def bytes_an_element(number: int, packed_bits: int = 0) -> float:
    """Memory of one element: whole bytes, unless the layout packs elements into fewer
    bits. 0 for unknown types.
    """
    bits = _TYPES[number][1] if number in _TYPES else 0
    return packed_bits / 8 if packed_bits else -(-bits // 8)


_TUPLE = 13
_TOKEN = 17
_OPAQUE = 14
_BUFFER = 34
_DEEPEST = 100
_HIGHEST_RANK = 256
_MOST_ELEMENTS = 1 << 52
"""No machine has so many; sums of them still fit into int64."""
MOST_COUNTED = 1 << 62
"""Operations or bytes that anything is said to take; JSON and columns hold no more."""


class Shape(msgspec.Struct, frozen=True, dict=True):
    """dtype: `f32`, …, `tuple`, `token`. dims: sizes, upper bounds where a dimension is
    dynamic.

    minor_to_major: the layout, from the dimension that varies fastest; empty when the
    shape has none. parts: of a tuple. element_bytes: memory of one element; below 1
    where the layout packs them.
    """

    dtype: str
    dims: tuple[int, ...]
    minor_to_major: tuple[int, ...] = ()
    parts: tuple[Shape, ...] = ()
    element_bytes: float = 0

    @property
    def is_tuple(self) -> bool:
        """Whether it is a tuple, perhaps an empty one."""
        return self.dtype == "tuple"

    def leaves(self) -> Iterator[Shape]:
        """The arrays in it, in order; itself when it is no tuple."""
        if self.is_tuple:
            for part in self.parts:
                yield from part.leaves()
        else:
            yield self

    @cached_property
    def elements(self) -> int:
        """Number of elements, over all arrays of a tuple; tokens and opaque values have
        none.
        """
        if self.is_tuple:
            return min(sum(leaf.elements for leaf in self.leaves()), _MOST_ELEMENTS)
        return 0 if self.dtype in _NO_ARRAYS else prod(self.dims)

    @cached_property
    def bytes(self) -> int:
        """Memory of its arrays without padding: a TPU's tiles and a tuple's pointers
        are not counted.
        """
        if self.is_tuple:
            return min(sum(leaf.bytes for leaf in self.leaves()), _MOST_ELEMENTS)
        elements = self.elements
        if self.element_bytes >= 1:
            return elements * int(self.element_bytes)
        return -(-elements * round(self.element_bytes * 8) // 8)

    @property
    def is_floating(self) -> bool:
        """Whether it is one array of a real floating-point type, as weights and
        gradients are, counters and keys are not.
        """
        return self.dtype == "bf16" or (
            self.dtype[:1] == "f" and self.dtype[1:2].isdigit()
        )

    def __str__(self) -> str:
        """As in HLO text: `bf16[8192,1024]{1,0}`."""
        if self.is_tuple:
            return f"({', '.join(map(str, self.parts))})"
        if self.dtype in _NO_ARRAYS:
            return f"{self.dtype}[]"
        if self.minor_to_major:
            layout = f"{{{','.join(map(str, self.minor_to_major))}}}"
        else:
            layout = ""
        return f"{self.dtype}[{','.join(map(str, self.dims))}]{layout}"


_NO_ARRAYS = frozenset(map(dtype_name, (0, _TOKEN, _OPAQUE)))
NO_SHAPE = Shape("tuple", ())
"""The shape of an instruction that has none: nothing."""


def read_shape(
    proto: Proto,
    lo: int,
    hi: int,
    depth: int = 0,
) -> Shape:
    """A ShapeProto. Raises TraceError for negative, too many or too large dimensions,
    and for tuples nested beyond all sense.
    """
    if depth > _DEEPEST:
        raise proto.damaged(lo, f"a shape is nested more than {_DEEPEST} deep")
    fields = entries(proto, lo, hi)
    kind = number_of(fields, 2)
    if kind in (_TUPLE, _BUFFER):
        parts = tuple(
            read_shape(proto, at, end, depth + 1)
            for key, at, end in fields
            if key == span(4)
        )
        if kind == _BUFFER and len(parts) == 1:
            return parts[0]
        return Shape("tuple", (), parts=parts)
    dims = numbers_of(proto, fields, 3)
    if len(dims) > _HIGHEST_RANK or any(size < 0 for size in dims):
        raise proto.damaged(lo, "a shape has negative or too many dimensions")
    if prod(filter(None, dims)) > _MOST_ELEMENTS:
        raise proto.damaged(lo, "a shape has more elements than any machine")
    layout = message_of(proto, fields, 5)
    packed_bits = number_of(layout, 7)
    element_bytes = bytes_an_element(kind, packed_bits if 0 < packed_bits < 8 else 0)
    return Shape(
        dtype_name(kind),
        dims,
        numbers_of(proto, layout, 1),
        element_bytes=element_bytes,
    )
