"""The ledger's file: one JSON object a line. Writers wait for each other, and what they write appears whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.files import new_file, only_writer, read_small
from tfadvisor.ledger.entries import FORM, Entry

_MOST_BYTES = 64 << 20
"""A hundred thousand candidates."""


class Ledger(msgspec.Struct, frozen=True):
    """What can be read of it."""

    entries: tuple[Entry, ...]
    """The oldest first."""
    unread: int
    """Lines that are cut short, or of a newer version."""


def append(file: Path, entries: Sequence[Entry]) -> None:
    """Adds lines, all or none: who reads meanwhile sees the file before or after. Raises OSError, UsageError when another
    writer takes too long.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in entries)
    with only_writer(file.parent):
        known = read_small(file, _MOST_BYTES) if file.exists() else b""
        if known and not known.endswith(b"\n"):
            known += b"\n"
        with new_file(file.resolve()) as out:
            out.write(known + lines)


def read(file: Path) -> Ledger:
    """Empty where there is none. Raises TraceError for what cannot be read."""
    try:
        lines = read_small(file, _MOST_BYTES).splitlines()
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
