"""A program may record itself while it is recorded: its own profiler comes first, since
there can be only one.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

_LOCKS = (
    ("jax._src.profiler", "_profile_state", "lock"),
    ("tensorflow.python.profiler.profiler_v2", "", "_profiler_lock"),
)
"""What the frameworks' functions take before they start or stop a profiler, by whatever
name the program calls them: of an object of a module, "" for the module itself."""
_STOPPING_SECONDS = 60.0
_LOOK_SECONDS = 0.03
GROWTH_BYTES = 50 << 20
"""Of the process's memory, beyond what the program itself was seen to need, while a
session is open; once it stops it takes three times as much for a moment, as measured.
"""


class Memory:
    """Of this process, read again and again from one file while it is entered."""

    def __init__(self, most_bytes: int) -> None:
        """most_bytes: what was seen before."""
        self.most_bytes = most_bytes
        """The most that was seen."""
        self.bytes = 0
        """Seen last."""
        self._file = -1

    def look(self) -> None:
        """Where the system does not tell, nothing is seen."""
        try:
            pages = int(os.pread(self._file, 200, 0).split()[1])
        except (OSError, ValueError, IndexError):
            return
        self.bytes = pages * os.sysconf("SC_PAGE_SIZE")
        self.most_bytes = max(self.most_bytes, self.bytes)

    def __enter__(self) -> Memory:
        """Looks at once."""
        try:
            self._file = os.open("/proc/self/statm", os.O_RDONLY)
        except OSError:
            return self
        self.look()
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing more is read."""
        if self._file >= 0:
            os.close(self._file)


class GivingWay:
    """While it is entered, the program's own profiler waits for its lock until our
    session is stopped, which is at once.
    """

    def __init__(self) -> None:
        """No lock is taken yet."""
        self.given = False
        self.over = threading.Event()
        self._stopped = threading.Event()
        self._held: list[_Held] = []

    def wait(
        self,
        seconds: float,
        leaving: threading.Event,
        look: Callable[[], None],
        memory: Memory,
        most_bytes: int,
    ) -> str:
        """For so long, or until the program starts its profiler or ends, or its memory
        grows beyond most_bytes. Why it was cut short, "" if not. look: called again and
        again meanwhile.
        """
        until = time.monotonic() + seconds
        while not leaving.is_set():
            look()
            left = until - time.monotonic()
            if left <= 0 or self.over.wait(min(left, _LOOK_SECONDS)):
                break
            memory.look()
            if memory.bytes > most_bytes:
                return "memory"
        return ""

    def __enter__(self) -> GivingWay:
        """Only modules that are imported already are looked at."""
        for module, owner, name in _LOCKS:
            place: Any = sys.modules.get(module)
            if owner:
                place = getattr(place, owner, None)
            if hasattr(place, name):
                self._held.append(_Held(self, place, name))
        return self

    def __exit__(self, *_error: object) -> None:
        """The locks are the program's own again."""
        self.put_back()
        self._stopped.set()

    def put_back(self) -> None:
        """In a fork of the program too."""
        for lock in self._held:
            lock.put_back()

    def give(self) -> None:
        """In the program's thread, which wants a profiler."""
        self.given = True
        self.over.set()
        self._stopped.wait(_STOPPING_SECONDS)


class _Held:
    """In the place of a framework's lock."""

    def __init__(
        self,
        way: GivingWay,
        place: Any,
        name: str,
    ) -> None:
        self._way, self._place, self._name = way, place, name
        self._lock: Any = getattr(place, name)
        setattr(place, name, self)

    def put_back(self) -> None:
        if getattr(self._place, self._name) is self:
            setattr(self._place, self._name, self._lock)

    def acquire(self, *how: Any, **more: Any) -> Any:
        self._way.give()
        return self._lock.acquire(*how, **more)

    def release(self) -> None:
        self._lock.release()

    def locked(self) -> bool:
        return bool(self._lock.locked())

    def __enter__(self) -> Any:
        self._way.give()
        return self._lock.__enter__()

    def __exit__(self, *error: object) -> Any:
        return self._lock.__exit__(*error)
