"""Versions of libraries, in order."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

_NUMBERS = re.compile(r"^\s*v?(\d{1,6}(?:\.\d{1,6}){0,5})")


class Chosen(msgspec.Struct, frozen=True):
    """version: the recorded one to judge by. note: why it is another than the one asked for, "" when it is the same."""

    version: str
    note: str


def order(version: str) -> tuple[int, ...] | None:
    """Numbers to compare by, without zeros at the end: (0, 4, 30) for `0.4.30`, `0.4.30+cuda12` and `0.4.30.dev1`.

    None for a text that begins with no number.
    """
    match = _NUMBERS.match(version)
    if match is None:
        return None
    numbers = [int(part) for part in match.group(1).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def choose(library: str, asked: str | None, recorded: Sequence[str]) -> Chosen:
    """The recorded version to judge by: the one asked for, else the nearest older; the newest when none is asked for.

    recorded: oldest first. A version that is not a version counts as not known.
    """
    newest = recorded[-1]
    wanted = order(asked) if asked is not None else None
    if wanted is None:
        cause = "no version is known" if asked is None else f"{asked!r} is not a version"
        return Chosen(newest, f"judged by {library} {newest}, the newest recorded, as {cause}")
    older = [version for version in recorded if (order(version) or ()) <= wanted]
    if not older:
        return Chosen(recorded[0], f"judged by {library} {recorded[0]}, the oldest recorded")
    if order(older[-1]) == wanted:
        return Chosen(older[-1], "")
    nearest = "the newest recorded" if older[-1] == newest else "the nearest older one recorded"
    return Chosen(older[-1], f"judged by {library} {older[-1]}, {nearest}")
