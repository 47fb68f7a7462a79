"""What is sent to the program's processes, and what they answer: small files in a folder of this run alone."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tfadvisor.record.injected.tfadvisor_hook.letters import write_letter

KERAS = "keras"
"""Stands for a file where the steps are those of Keras' `fit`."""


class Loop(msgspec.Struct, frozen=True):
    """A loop whose rounds may be the program's steps."""

    file: str
    """Its real path, or KERAS."""
    line: int
    """Of its first line, from 1; 0 for Keras."""


class Order(msgspec.Struct, frozen=True):
    """What a run is to do."""

    roots: tuple[str, ...]
    """Folders of the program's own files."""
    patched: Mapping[str, str]
    """By real path, the file that is read in its place."""
    loops: tuple[tuple[str, int], ...] | None
    """Those that are timed, None: all are watched."""
    warm: int = 0
    """Steps that are set aside."""
    count: int = 0
    """Steps that are timed."""
    looks: int = 3
    """Steps after which values are looked at."""
    fewest: int = 8
    """Watching: rounds after which a loop may be the one."""
    seconds: float = 4.0
    """Watching: for how long once the frameworks work."""

    def write(self, folder: str) -> None:
        """Raises OSError."""
        write_letter(f"{folder}/order.json", msgspec.to_builtins(self))


class SeenLoop(msgspec.Struct, frozen=True):
    """A loop that went round while it was watched."""

    file: str
    line: int
    function: str
    """Its function, with those around it."""
    entries: int
    """How often it began."""
    done: int
    """Its rounds since the frameworks work."""
    seconds: float
    """Inside of it since then."""
    longest: float
    """Its longest round, seconds."""
    compiled: int
    """Compilations inside of it."""
    after: bool
    """It began when something had compiled in a loop."""
    aside: bool
    """It is a generator's, or ran on another thread than the main one: it may make batches."""


class Sample(msgspec.Struct, frozen=True):
    """Steps that were timed."""

    seconds: float
    steps: int


class Answer(msgspec.Struct, frozen=True):
    """Of one process."""

    pid: int
    ended: bool
    """Its program came to its end by itself."""
    versions: Mapping[str, str]
    device: str
    loops: tuple[SeenLoop, ...]
    sample: Sample | None
    values: Mapping[str, float]
    """Of the first steps: what is read as `batch:NAME@STEP`, all else as `value:NAME@STEP`."""
    steps: int = 0
    """All that it made."""
