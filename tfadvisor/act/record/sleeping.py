"""When a program's main thread slept all the time, as Linux counts the time that a
thread ran.

Samples of a stack that stays the same cannot tell one long wait from many turns that
all pass there; a thread that did not run at all waited once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

_EVERY_SECONDS = 0.01
_LEAST_NS = 40_000_000
"""Shorter sleeps are in every step of many programs."""
_MOST = 10_000
"""Sleeps that are kept; with more the shortest are left out."""
Sleep = tuple[int, int]
"""(from, to), ns since the epoch."""


class Sleeps:
    """Of the main thread of a process and, where it only waits for a program that it
    starts, of that one's.
    """

    def __init__(self, pid: int) -> None:
        """pid: of the program."""
        self._pid = pid
        self.found: dict[int, list[Sleep]] = {}
        """By process, in their order."""
        self._least_ns = _LEAST_NS

    def follow(self, over: threading.Event) -> None:
        """Until `over` is set or the program has ended. Nothing is found where the
        system does not count.
        """
        followed: dict[int, Callable[[], None]] = {}
        looks = 0
        while not over.wait(_EVERY_SECONDS):
            if looks % 10 == 0:
                for pid in _below(self._pid):
                    if pid not in followed:
                        followed[pid] = self._look_at(pid)
            looks += 1
            for pid, look in list(followed.items()):
                try:
                    look()
                except (OSError, ValueError, IndexError):
                    followed[pid] = _nothing
            if not _task(self._pid).exists():
                return

    def of(self, pid: int) -> list[Sleep]:
        """Of a process, up to now, in their order."""
        return list(self.found.get(pid, ()))

    def _look_at(self, pid: int) -> Callable[[], None]:
        """A look at a main thread, again and again."""
        counted, state = _task(pid) / "schedstat", _task(pid) / "stat"
        ran, since, now = "", 0, 0

        def look() -> None:
            nonlocal ran, since, now
            last, now = now, time.time_ns()
            before, ran = ran, counted.read_text().split(" ", 1)[0]
            is_asleep = ran == before and _is_asleep(state.read_text())
            if is_asleep:
                since = since or last
                return
            if since and now - since >= self._least_ns:
                self._keep(pid, (since, now))
            since = 0

        return look

    def _keep(self, pid: int, sleep: Sleep) -> None:
        found = self.found.setdefault(pid, [])
        found.append(sleep)
        if len(found) > _MOST:
            self._least_ns *= 2
            self.found[pid] = [
                (begin, end) for begin, end in found if end - begin >= self._least_ns
            ]


def _nothing() -> None:
    """Of a thread that cannot be looked at."""


def _task(pid: int) -> Path:
    return Path(f"/proc/{pid}/task/{pid}")


def _below(pid: int) -> list[int]:
    """A process and what it has started, one of each generation."""
    found = [pid]
    while True:
        try:
            children = (_task(found[-1]) / "children").read_text().split()
        except OSError:
            return found
        if not children:
            return found
        found.append(int(children[0]))


def _is_asleep(stat: str) -> bool:
    """By a line of /proc, whose third field behind the name is the state."""
    return stat.rpartition(")")[2].split()[0] in ("S", "D")
