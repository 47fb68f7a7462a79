"""How much of everything a file of a size can hold when a profiler wrote it.

Each thing has a few bytes at least in a real trace, and far fewer in one that was made
to fill the memory of its reader. What is decoded takes about twenty times the file at
most.
"""

from __future__ import annotations

from tfadvisor.errors import TraceError

_MOST = {
    "planes": (4_096, 2_048),
    "texts": (4_096, 64),
    "lines": (65_536, 16),
    "names": (65_536, 24),
    "events": (1 << 20, 5),
}
"""By what is counted: so many in any file, and one more for every so many bytes."""


class Counts:
    """Counts what a file contains while it is decoded."""

    def __init__(self, place: str, size: int) -> None:
        """size: of the uncompressed file in bytes."""
        self._place = place
        self._size = size
        self._found = dict.fromkeys(_MOST, 0)

    def add(self, what: str, number: int) -> None:
        """Raises TraceError for more than a file of this size can hold."""
        self._found[what] += number
        base, each = _MOST[what]
        most = base + self._size // each
        if self._found[what] > most:
            raise TraceError(
                self._place,
                f"holds more than {most:,} {what}, which no profiler puts into "
                f"{self._size:,} bytes.",
                "It is damaged, or made to fill the memory of its reader: record the "
                "trace again.",
            )


# Protobuf's wire types: how the bytes of a field are laid out, the low three bits of
# its tag.

VARINT = 0
"""A number, seven bits a byte."""
FIXED_64 = 1
"""Eight bytes."""
SIZED = 2
"""Text, bytes, a message or packed numbers, after their length."""
FIXED_32 = 5
"""Four bytes."""
