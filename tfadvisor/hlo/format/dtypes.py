"""XLA's primitive types: their names and sizes.

Source: `enum PrimitiveType` in openxla/xla, xla/xla_data.proto.
"""

from __future__ import annotations

# number -> (name as in HLO text, bits). Tuples, tokens and opaque values have no size of their own.
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


def dtype_number(name: str) -> int:
    """The number of a type's name. Raises KeyError for an unknown name."""
    return _NUMBERS[name]


def bytes_an_element(number: int, packed_bits: int = 0) -> float:
    """Memory of one element: whole bytes, unless the layout packs elements into fewer bits. 0 for unknown types."""
    bits = _TYPES[number][1] if number in _TYPES else 0
    return packed_bits / 8 if packed_bits else -(-bits // 8)


def is_floating(name: str) -> bool:
    """Whether a type is a real floating-point one: weights, gradients and activations are, counters and keys are not."""
    return name == "bf16" or (name[:1] == "f" and name[1:2].isdigit())


_NUMBERS = {name: number for number, (name, _) in _TYPES.items()}
