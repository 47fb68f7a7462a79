"""Bytes from a trace to text: never an error, never more than a bounded amount."""

from __future__ import annotations

LONGEST = 1 << 18
"""Bytes of a text that are kept. The names of real ops, which may be whole HLO expressions, have a tenth of it at most."""
_LONGEST_INFLATED = 1 << 20
_INFLATED_ALWAYS, _INFLATED_EACH = 1 << 10, 16
"""An inflated text may have so many bytes, and so many more for each packed one: memory in proportion to the file."""


def text_of(data: bytes) -> str:
    """UTF-8, with the replacement character where the bytes are not, cut where it is too long."""
    return data[:LONGEST].decode("utf-8", "replace")


def inflated_text(data: bytes) -> str:
    """A gzip-compressed string (`compressed_str_value`), cut where it is too long; empty when it is not gzip."""
    import zlib  # only recent traces hold such strings

    most = min(_LONGEST_INFLATED, _INFLATED_ALWAYS + _INFLATED_EACH * len(data))
    try:
        return text_of(zlib.decompressobj(wbits=31).decompress(data, most))
    except zlib.error:
        return ""
