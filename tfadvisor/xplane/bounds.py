"""How much of everything a file of a size can hold when a profiler wrote it.

Each thing has a few bytes at least in a real trace, and far fewer in one that was made to fill the memory of its reader.
What is decoded takes about twenty times the file at most.
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
    """Counts what a file holds while it is decoded."""

    def __init__(self, place: str, size: int) -> None:
        """size: of the uncompressed file in bytes."""
        self._place, self._size = place, size
        self._found = dict.fromkeys(_MOST, 0)

    def add(self, what: str, number: int) -> None:
        """Raises TraceError for more than a file of this size can hold."""
        self._found[what] += number
        base, each = _MOST[what]
        most = base + self._size // each
        if self._found[what] > most:
            raise TraceError(
                self._place,
                f"holds more than {most:,} {what}, which no profiler puts into {self._size:,} bytes.",
                "It is damaged, or made to fill the memory of its reader: record the trace again.",
            )
