"""Bytes changed by chance: as bytes, and as the protobuf message that they are, so that
most of what comes out is still one.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import NamedTuple

_NUMBERS = (
    0,
    1,
    2,
    3,
    7,
    99,
    127,
    128,
    1 << 31,
    (1 << 31) - 1,
    1 << 32,
    (1 << 53) + 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
)
"""Where arithmetic breaks: none, one, the ends of types."""
_SPLICES = (
    b"",
    b"\0",
    b"\xff",
    b"\n::error::",
    b"%s{}",
    b"a" * 70_000,
    b"\xed\xa0\x80",
    b"1e999",
    b"-1",
    b"nan",
)
_DEEPEST = 8


def mutated(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """A neighbour of data. others: what parts may be taken from."""
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        how = chance.random()
        if how < 0.7:
            data = _as_message(data, others, chance, 0)
        elif how < 0.95:
            data = _as_bytes(data, chance)
        else:
            other = chance.choice(others)
            data = (
                data[: chance.randrange(len(data) + 1)]
                + other[chance.randrange(len(other) + 1) :]
            )
    return data


def flipped(data: bytes, chance: random.Random) -> bytes:
    """One byte of data changed."""
    if not data:
        return data
    at, how = int(chance.random() * len(data)), chance.random()
    byte = int(how * 512) if how < 0.5 else data[at] ^ 1 << int(how * 16 - 8)
    return b"%b%c%b" % (data[:at], byte, data[at + 1 :])


def _as_bytes(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data or b"\0")
    at = chance.randrange(len(changed))
    how = chance.randrange(5)
    if how == 0:
        changed[at] = chance.randrange(256)
    elif how == 1:
        changed[at] ^= 1 << chance.randrange(8)
    elif how == 2:
        del changed[at : at + chance.choice((1, 2, 8, 64))]
    elif how == 3:
        changed[at:at] = changed[max(0, at - chance.choice((1, 4, 32))) : at]
    else:
        changed[at:at] = chance.choice(_SPLICES)
    return bytes(changed)


class Field(NamedTuple):
    """One of a message. value: a number, or the bytes inside; raw: all of its bytes,
    key and length included.
    """

    number: int
    kind: int
    value: int | bytes
    raw: bytes


def _as_message(
    data: bytes, others: Sequence[bytes], chance: random.Random, depth: int
) -> bytes:
    """One field changed, dropped, doubled or moved, here or in a message below."""
    fields = fields_of(data)
    if not fields:
        return _as_bytes(data, chance)
    at = chance.randrange(len(fields))
    number, kind, value, raw = fields[at]
    how = chance.random()
    if (
        isinstance(value, bytes)
        and kind == 2
        and value
        and depth < _DEEPEST
        and how < 0.75
        and fields_of(value)
    ):
        new = [field_of(number, kind, _as_message(value, others, chance, depth + 1))]
    elif how < 0.80:
        new = []
    elif how < 0.85:
        new = [raw] * chance.choice((2, 3, 51))
    elif how < 0.88:
        return b"".join(
            (
                *(one.raw for one in fields[:at]),
                *(one.raw for one in fields[at + 1 :]),
                raw,
            )
        )
    elif isinstance(value, int):
        near = value + chance.choice((-1, 1, 1000, -1000))
        number_of = chance.choice((*_NUMBERS, near, value * 1000, -value)) % (1 << 64)
        new = [field_of(number, kind, number_of)]
    else:
        new = [
            field_of(
                number,
                kind,
                chance.choice((_as_bytes(value, chance), *_SPLICES, value * 2)),
            )
        ]
    return b"".join(
        (
            *(one.raw for one in fields[:at]),
            *new,
            *(one.raw for one in fields[at + 1 :]),
        )
    )


@functools.lru_cache(maxsize=20_000)
def fields_of(data: bytes) -> tuple[Field, ...]:
    """The fields of a message; none where the bytes are no message."""
    fields: list[Field] = []
    at = 0
    while at < len(data):
        begin = at
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        value: int | bytes
        if kind == 0:
            value, at = _varint(data, at)
        elif kind in (1, 2, 5):
            size, at = (8 if kind == 1 else 4, at) if kind != 2 else _varint(data, at)
            value = data[at : at + size]
            at += size
        else:
            return ()
        if at > len(data) or not number:
            return ()
        fields.append(Field(number, kind, value, data[begin:at]))
    return tuple(fields)


def field_of(number: int, kind: int, value: int | bytes) -> bytes:
    """The bytes of a field."""
    key = _as_varint(number << 3 | kind)
    if isinstance(value, int):
        return key + _as_varint(value)
    return key + (_as_varint(len(value)) if kind == 2 else b"") + value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 0x7F) << shift
        at += 1
        shift += 7
        if data[at - 1] < 0x80:
            return value % (1 << 64), at
    return 0, len(data) + 1


def _as_varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
