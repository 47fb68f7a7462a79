"""The ledger's file: one JSON object a line. Writers wait for each other, and one that is killed costs at most its own line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.gate.baseline.lock import only_writer
from tfadvisor.trial.ledger.entries import FORM, Entry


class Ledger(msgspec.Struct, frozen=True):
    """What can be read of it."""

    entries: tuple[Entry, ...]
    """The oldest first."""
    unread: int
    """Lines that are cut short, or of a newer version."""


def append(file: Path, entries: Sequence[Entry]) -> None:
    """Adds lines, each whole or not at all. Raises OSError, UsageError when another writer takes too long."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in entries)
    with only_writer(file.parent):
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            if not _ends_with_a_line(handle):
                lines = b"\n" + lines
            while lines:
                lines = lines[os.write(handle, lines) :]
            os.fsync(handle)
        finally:
            os.close(handle)


def read(file: Path) -> Ledger:
    """Empty where there is none. Raises TraceError for what cannot be read."""
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return Ledger((), 0)
    except OSError as error:
        raise TraceError(str(file), f"{error.strerror or error}.", "Give the ledger's file with --ledger.") from error
    entries, unread = [], 0
    for line in lines:
        if not line.strip():
            continue
        try:
            one = msgspec.json.decode(line, type=Entry)
        except (msgspec.DecodeError, UnicodeDecodeError):
            unread += 1
            continue
        if one.form != FORM:
            unread += 1
        else:
            entries.append(one)
    return Ledger(tuple(entries), unread)


def _ends_with_a_line(handle: int) -> bool:
    size = os.lseek(handle, 0, os.SEEK_END)
    return size == 0 or os.pread(handle, 1, size - 1) == b"\n"
