"""Protobuf's wire types: how the bytes of a field are laid out, the low three bits of its tag.

Source: https://protobuf.dev/programming-guides/encoding#structure. Those of groups, which nothing here reads, are left out.
"""

from __future__ import annotations

VARINT = 0
"""A number, seven bits a byte."""
FIXED_64 = 1
"""Eight bytes."""
SIZED = 2
"""Text, bytes, a message or packed numbers, after their length."""
FIXED_32 = 5
"""Four bytes."""
