"""How much time of cores a program takes, all its processes together, while a window is
open. Read from outside of it: programs watch over what is opened in them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_EVERY_SECONDS = 0.1


def program_seconds(root: int, proc: Path = Path("/proc")) -> float:
    """Of all processes that descend from the root or lead its group, and of those of
    them that have ended. 0 where the system does not tell.
    """
    parents: dict[int, int] = {}
    groups: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for file in proc.glob("[0-9]*/stat"):
        try:
            words = file.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended since
        pid = int(file.parent.name)
        parents[pid] = int(words[1])
        groups[pid] = int(words[2])
        ticks[pid] = sum(map(int, words[11:15]))

    total = 0
    for pid in parents:
        if groups[pid] == root or root in _line(pid, parents):
            total += ticks[pid]
    return total / os.sysconf("SC_CLK_TCK")


def _line(pid: int, parents: dict[int, int]) -> Iterator[int]:
    """A process, its parent, and so on."""
    for _ in range(len(parents)):
        if pid not in parents:
            return
        yield pid
        pid = parents[pid]


class ProgramTimes:
    """Read ten times a second, from where it is entered until it is left."""

    def __init__(self, root: int) -> None:
        """root: the process from which all of the program descends."""
        self._root = root
        self._times: list[tuple[float, float]] = []
        """(s since the epoch, s of cores)."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> ProgramTimes:
        """Begins."""
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Ends."""
        self._over.set()
        self._thread.join()

    def add_to(self, counted: dict[str, Any]) -> None:
        """counted: what a process counted at both ends of a window, with the times."""
        for end in ("opened", "closed"):
            moment = counted.get(end, {}).get("time")
            if moment is not None and self._times:
                counted[end]["program_seconds"] = self._at(moment)

    def _at(self, moment: float) -> float:
        nearest = min(self._times, key=lambda reading: abs(reading[0] - moment))
        return nearest[1]

    def _read(self) -> None:
        while not self._over.is_set():
            self._times.append((time.time(), program_seconds(self._root)))
            self._over.wait(_EVERY_SECONDS)
