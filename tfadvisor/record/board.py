"""The folder through which `tfadvisor run` and the processes that it records speak."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.record.injected.tfadvisor_hook.letters import read_letter, write_letter


class Framework(msgspec.Struct, frozen=True):
    """What a process has imported."""

    version: str
    ready: float
    """When its import was over, seconds since the epoch."""


class Process(msgspec.Struct, frozen=True):
    """What a process last reported about itself."""

    name: str
    pid: int
    """Its number on its host."""
    host: str
    forked: bool
    """It began as a copy of one that had a framework already."""
    frameworks: dict[str, Framework]
    compiled: int
    """How often it has traced or compiled."""
    last_compiled: float | None
    """Seconds since the epoch."""
    windows: dict[str, dict[str, Any]]
    """By the order's number: the file, or the error, and times in seconds since the epoch."""
    left: bool
    """It has ended, and reported that."""
    error: str | None = None


class Board:
    """Orders of the parent, answers of the processes."""

    def __init__(self, folder: Path) -> None:
        """folder: exists, and belongs to this run alone."""
        self.folder = folder
        self.number = 0
        self._seen: dict[Path, tuple[int, Process]] = {}
        write_letter(str(folder / "parent.json"), {"pid": os.getpid(), "host": socket.gethostname()})

    def processes(self) -> list[Process]:
        """Every process that has imported a framework, in the order of their names."""
        for file in sorted(self.folder.glob("process-*.json")):
            changed = file.stat().st_mtime_ns
            if self._seen.get(file, (0, None))[0] != changed and (letter := read_letter(str(file))) is not None:
                self._seen[file] = changed, msgspec.convert(letter, Process)
        return [process for _, process in self._seen.values()]

    def order_window(self, processes: Sequence[Process], seconds: float, *, python_tracer: bool) -> int:
        """Asks processes to record, all for as long. Returns the order's number."""
        self.number += 1
        self._order(
            number=self.number,
            processes=[process.name for process in processes],
            seconds=seconds,
            python_tracer=python_tracer,
        )
        return self.number

    def order_end(self, *, stop: bool) -> None:
        """Nothing more is recorded. stop: the processes end too."""
        self._order(end="stop" if stop else "continue")

    def _order(self, **order: Any) -> None:
        write_letter(str(self.folder / "order.json"), order)
