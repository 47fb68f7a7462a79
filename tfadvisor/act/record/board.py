"""The folder through which `tfadvisor run` and the processes that it records speak:
orders of the one, answers of the others.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.act.record.injected.tfadvisor_hook.letters import (
    read_letter,
    write_letter,
)


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
    """By the order's number: the file, or the error, and times in seconds since the
    epoch.
    """
    left: bool
    """It has ended, and reported that."""
    error: str | None = None


class Board:
    """Orders of the parent, answers of the processes."""

    def __init__(self, folder: Path) -> None:
        """folder: exists, and belongs to this run alone."""
        self.folder = folder
        self.number = 0
        self.step = ""
        """What the report shall take for the step, "" for what it finds."""
        self._read: dict[Path, tuple[int, Process]] = {}

        parent = {"pid": os.getpid(), "host": socket.gethostname()}
        write_letter(str(folder / "parent.json"), parent)

    def processes(self) -> list[Process]:
        """Every process that has imported a framework, in the order of their names."""
        for file in sorted(self.folder.glob("process-*.json")):
            self._read_again(file)

        return [process for _, process in self._read.values()]

    def _read_again(self, file: Path) -> None:
        """Where it has changed since."""
        changed = file.stat().st_mtime_ns
        if file in self._read and self._read[file][0] == changed:
            return

        letter = read_letter(str(file))
        if letter is not None:
            self._read[file] = changed, msgspec.convert(letter, Process)

    def order(
        self,
        processes: Sequence[Process],
        seconds: float,
        **more: Any,
    ) -> int:
        """Asks processes to record, all for as long, or only how long a round of their
        loop takes. Returns the order's number.
        """
        self.number += 1
        self._write(
            number=self.number,
            processes=[process.name for process in processes],
            seconds=seconds,
            step=self.step,
            **more,
        )
        return self.number

    def order_end(self, *, stop: bool) -> None:
        """Nothing more is recorded. stop: the processes end too."""
        self._write(end="stop" if stop else "continue")

    def _write(self, **order: Any) -> None:
        write_letter(str(self.folder / "order.json"), order)
