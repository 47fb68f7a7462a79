"""Bytes from a trace to text: never an error, never more than a bounded amount."""

from __future__ import annotations

_LONGEST_INFLATED = 1 << 20


def text_of(data: bytes) -> str:
    """UTF-8, with the replacement character where the bytes are not."""
    return data.decode("utf-8", "replace")


def inflated_text(data: bytes) -> str:
    """A gzip-compressed string (`compressed_str_value`), cut at 1 MiB; empty when it is not gzip."""
    import zlib  # noqa: PLC0415  (only recent traces hold such strings)

    try:
        return text_of(zlib.decompressobj(wbits=31).decompress(data, _LONGEST_INFLATED))
    except zlib.error:
        return ""
