"""The flags that libraries accept, version by version, as benchmarks/record_flags.py
recorded them.

recorded.json is read when the first flag is asked about and not before: most reports
print none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.vocabulary import FRAMEWORKS

_DEPRECATED = re.compile(r"\W{0,2}deprecated\b|the legacy flag\b", re.I)
_FILE = Path(__file__).with_name("recorded.json")


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What a flag of text is limited to. prefix: may stand before each word. any_case:
    their case matters not.

    several: a list joined by commas is accepted. loose: so are blanks and empty parts
    in it. signs: so are +word and -word, which change the default, if all words have
    one. empty: so is "".
    """

    words: tuple[str, ...]
    prefix: str
    any_case: bool
    several: bool = msgspec.field(name="list")
    signs: bool
    empty: bool
    loose: bool


class Flag(msgspec.Struct, frozen=True):
    """A flag as one version knows it. kind: bool, int32, int64, float or string. words:
    None where any text is accepted.
    """

    name: str
    kind: str
    default: str
    words: Words | None
    about: str

    @property
    def deprecated(self) -> bool:
        """Whether its own help says so."""
        return _DEPRECATED.match(self.about) is not None


class Table(msgspec.Struct, frozen=True):
    """The flags of one environment variable (XLA_FLAGS, TF_XLA_FLAGS) in the recorded
    versions of one library.

    versions: oldest first. periods: flag -> [first version, last version, type,
    default, words, help], oldest first.
    """

    variable: str
    library: str
    versions: tuple[str, ...]
    periods: Mapping[str, Sequence[Sequence[Any]]] = msgspec.field(name="flags")

    @property
    def title(self) -> str:
        """The library as people write it."""
        return FRAMEWORKS.get(self.library, self.library)

    def flag(self, name: str, version: str) -> Flag | None:
        """A flag as a recorded version knows it, None when that refuses it."""
        at = self.versions.index(version)
        help_text = ""
        for first, last, kind, default, words, about in self.periods.get(name, ()):
            if about is not None:
                help_text = about
            if self.versions.index(first) <= at <= self.versions.index(last):
                return Flag(
                    name=name,
                    kind=kind,
                    default=default,
                    words=msgspec.convert(words, Words | None),
                    about=help_text,
                )
        return None

    def names(self, version: str) -> list[str]:
        """All flags of a recorded version, sorted."""
        return [name for name in self.periods if self.flag(name, version) is not None]

    def first_and_last(self, name: str) -> tuple[str, str] | None:
        """The oldest and the newest recorded version that accept a flag, None when none
        does.
        """
        periods = self.periods.get(name)
        if not periods:
            return None
        first, last = periods[0], periods[-1]
        return first[0], last[1]

    def next_version(self, version: str) -> str | None:
        """The recorded version after another."""
        following = self.versions.index(version) + 1
        if following == len(self.versions):
            return None
        return self.versions[following]


class RecordedFlags(msgspec.Struct, frozen=True, kw_only=True):
    """date: ISO, when the libraries were asked. machine: on what."""

    date: str = msgspec.field(name="recorded")
    machine: str
    tables: tuple[Table, ...]

    def table(self, variable: str, library: str) -> Table:
        """One variable's flags in one library. Raises KeyError where there are none."""
        for table in self.tables:
            if (table.variable, table.library) == (variable, library):
                return table
        raise KeyError((variable, library))


@cache
def recording() -> RecordedFlags:
    """The recording that is shipped with this package."""
    return msgspec.json.decode(_FILE.read_bytes(), type=RecordedFlags)


def is_newer(version: str, than: str) -> bool:
    """Whether one version came after another."""
    return (order(version) or ()) > (order(than) or ())


# Versions of libraries, in order.

_NUMBERS = re.compile(r"^\s*v?(\d{1,6}(?:\.\d{1,6}){0,5})")


class Chosen(msgspec.Struct, frozen=True):
    """version: the recorded one to judge by. note: why it is another than the one asked
    for, "" when it is the same.
    """

    version: str
    note: str


def order(version: str) -> tuple[int, ...] | None:
    """Numbers to compare by, without zeros at the end: (0, 4, 30) for `0.4.30`,
    `0.4.30+cuda12` and `0.4.30.dev1`.

    None for a text that begins with no number.
    """
    match = _NUMBERS.match(version)
    if match is None:
        return None
    numbers = [int(part) for part in match.group(1).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def choose(
    library: str,
    asked: str | None,
    recorded: Sequence[str],
) -> Chosen:
    """The recorded version to judge by: the one asked for, else the nearest older; the
    newest when none is asked for.

    recorded: oldest first. A version that is not a version counts as not known.
    """
    newest = recorded[-1]
    wanted = order(asked) if asked is not None else None
    if wanted is None:
        cause = "no version is known"
        if asked is not None:
            cause = f"{asked!r} is not a version"
        note = f"judged by {library} {newest}, the newest recorded, as {cause}"
        return Chosen(newest, note)

    older = [version for version in recorded if (order(version) or ()) <= wanted]
    if not older:
        oldest = recorded[0]
        return Chosen(oldest, f"judged by {library} {oldest}, the oldest recorded")
    nearest = older[-1]
    if order(nearest) == wanted:
        return Chosen(nearest, "")
    which = "the nearest older one recorded"
    if nearest == newest:
        which = "the newest recorded"
    return Chosen(nearest, f"judged by {library} {nearest}, {which}")
