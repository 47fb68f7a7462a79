"""Numbers that no two tracks, processes, threads or arrows of a file share."""

from __future__ import annotations

from itertools import count


class TrackNumbers:
    """Counts up from 1 in each kind; processes and threads are one kind."""

    def __init__(self) -> None:
        """Nothing is given out yet."""
        self._tracks = count(1)
        self._processes = count(1)
        self._flows = 1

    def track(self) -> int:
        """A new track's."""
        return next(self._tracks)

    def process(self) -> int:
        """A new process's or thread's."""
        return next(self._processes)

    def flows(self, wanted: int) -> int:
        """The first of so many new ones."""
        first = self._flows
        self._flows += wanted
        return first
