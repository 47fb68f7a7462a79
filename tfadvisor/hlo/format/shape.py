"""Shapes of values: an array's type, dimensions and layout, or a tuple of shapes.

Source: `ShapeProto` and `LayoutProto` in openxla/xla, xla/xla_data.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import msgspec

from tfadvisor.hlo.format.dtypes import bytes_an_element, dtype_name, is_floating
from tfadvisor.hlo.format.wire import Entry, Proto, entries, message_of, number_of, numbers_of, span

_TUPLE, _TOKEN, _OPAQUE, _BUFFER = 13, 17, 14, 34
_DEEPEST = 100
_HIGHEST_RANK = 256


class Shape(msgspec.Struct, frozen=True):
    """dtype: `f32`, …, `tuple`, `token`. dims: sizes, upper bounds where a dimension is dynamic.

    minor_to_major: the layout, from the dimension that varies fastest; empty when the shape has none. parts: of a tuple.
    element_bytes: memory of one element; below 1 where the layout packs them. memory_space: 0 is the device's main one.
    """

    dtype: str
    dims: tuple[int, ...]
    minor_to_major: tuple[int, ...] = ()
    parts: tuple[Shape, ...] = ()
    element_bytes: float = 0
    memory_space: int = 0

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

    @property
    def elements(self) -> int:
        """Number of elements, over all arrays of a tuple; tokens and opaque values have none."""
        if self.is_tuple:
            return sum(leaf.elements for leaf in self.leaves())
        return 0 if self.dtype in _NO_ARRAYS else prod(self.dims)

    @property
    def bytes(self) -> int:
        """Memory of its arrays without padding: a TPU's tiles and a tuple's pointers are not counted."""
        if self.is_tuple:
            return sum(leaf.bytes for leaf in self.leaves())
        elements = self.elements
        if self.element_bytes >= 1:
            return elements * int(self.element_bytes)
        return -(-elements * round(self.element_bytes * 8) // 8)

    @property
    def is_floating(self) -> bool:
        """Whether it is one array of a real floating-point type."""
        return is_floating(self.dtype)

    def __str__(self) -> str:
        """As in HLO text: `bf16[8192,1024]{1,0}`."""
        if self.is_tuple:
            return f"({', '.join(map(str, self.parts))})"
        if self.dtype in _NO_ARRAYS:
            return f"{self.dtype}[]"
        layout = f"{{{','.join(map(str, self.minor_to_major))}}}" if self.minor_to_major else ""
        return f"{self.dtype}[{','.join(map(str, self.dims))}]{layout}"


_NO_ARRAYS = frozenset(map(dtype_name, (0, _TOKEN, _OPAQUE)))
NO_SHAPE = Shape("tuple", ())
"""The shape of an instruction that has none: nothing."""


def read_shape(proto: Proto, lo: int, hi: int, depth: int = 0) -> Shape:
    """A ShapeProto. Raises TraceError for negative or too many dimensions, and for tuples nested beyond all sense."""
    if depth > _DEEPEST:
        raise proto.damaged(lo, f"a shape is nested more than {_DEEPEST} deep")
    fields = entries(proto, lo, hi)
    kind = number_of(fields, 2)
    if kind in (_TUPLE, _BUFFER):
        parts = tuple(read_shape(proto, at, end, depth + 1) for key, at, end in fields if key == span(4))
        return parts[0] if kind == _BUFFER and len(parts) == 1 else Shape("tuple", (), parts=parts)
    dims = numbers_of(proto, fields, 3)
    if len(dims) > _HIGHEST_RANK or any(size < 0 for size in dims):
        raise proto.damaged(lo, "a shape has negative or too many dimensions")
    layout = message_of(proto, fields, 5)
    return _array(proto, kind, dims, layout)


def _array(proto: Proto, kind: int, dims: tuple[int, ...], layout: list[Entry]) -> Shape:
    packed_bits = number_of(layout, 7)
    return Shape(
        dtype_name(kind),
        dims,
        numbers_of(proto, layout, 1),
        (),
        bytes_an_element(kind, packed_bits if 0 < packed_bits < 8 else 0),
        number_of(layout, 8),
    )
