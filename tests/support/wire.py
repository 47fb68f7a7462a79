"""Protobuf's bytes by hand, well formed or not."""

from __future__ import annotations


def varint(number: int) -> bytes:
    """The shortest form."""
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def overlong(number: int, more: int) -> bytes:
    """The same number in so many bytes more than it needs."""
    shortest = varint(number)
    return (
        shortest[:-1] + bytes([shortest[-1] | 0x80]) + b"\x80" * (more - 1) + b"\0"
        if more
        else shortest
    )


def sized(field: int, data: bytes) -> bytes:
    """Text, bytes or a message."""
    return varint(field << 3 | 2) + varint(len(data)) + data


def number(field: int, value: int) -> bytes:
    """An integer."""
    return varint(field << 3) + varint(value)


def groups(deep: int, field: int = 15) -> bytes:
    """Groups in each other, which no schema knows."""
    return varint(field << 3 | 3) * deep + varint(field << 3 | 4) * deep
