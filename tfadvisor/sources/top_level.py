"""The outermost fields of a trace, read by a few short ranges: what is cut short or no trace is not fetched at all."""

from __future__ import annotations

from collections.abc import Callable

from tfadvisor.errors import TraceError
from tfadvisor.protobuf import SIZED
from tfadvisor.sources.stores import StoredObject

_HEAD = 16
"""Bytes asked for at each field: its tag and its length."""
_FIELDS = 64
"""Looked at; each is a request. A trace has one for each plane, and a host rarely more than thirty planes."""


def check_top_level(read: Callable[[int, int], bytes], size: int, path: StoredObject) -> None:
    """read: of bytes from, to. Raises TraceError for a field that ends past the object and for what no XSpace begins with."""
    at = 0
    for _ in range(_FIELDS):
        if at >= size:
            return
        head = read(at, min(at + _HEAD, size))
        length, used = _length(head)
        if not head or head[0] & 7 != SIZED or head[0] >= 0x80 or head[0] < 8 or used == 0:
            raise TraceError(
                f"{path}: byte {at:,} of {size:,}",
                "a field that no XSpace has. The object is damaged, or is no profiler trace.",
                "Give the `*.xplane.pb` that the profiler wrote, or copy it again.",
            )
        at += used + length
        if at > size:
            raise TraceError(
                f"{path}: byte {size:,}",
                f"is cut short: its last field would end at byte {at:,}.",
                "Copy it again, or record the trace again.",
            )


def _length(head: bytes) -> tuple[int, int]:
    """(length of a field, bytes of its tag and length); (0, 0) where they do not end."""
    length = 0
    for place, byte in enumerate(head[1:11]):
        length |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return length, place + 2
    return 0, 0
