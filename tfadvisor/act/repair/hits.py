"""What a codemod gets of a finding, and what it answers."""

from __future__ import annotations

import re

import msgspec


class Place(msgspec.Struct, frozen=True):
    """Where the finding says that its fault stands. Empty where the trace does not tell."""

    lines: tuple[int, ...] = ()
    """In the program at hand, from 1."""
    names: tuple[str, ...] = ()
    """Functions that the trace saw there."""
    snippets: str = ""
    """What the finding's fixes prescribe for this run, one after another."""
    told: bool = False
    """Whether the trace names this program's file."""

    def number(self, pattern: str, otherwise: int) -> str:
        """The number that the fixes prescribe, so that a patch writes what the text says; of a pattern with one group."""
        found = re.search(pattern, self.snippets)
        return found[1] if found is not None and int(found[1]) > 1 else str(otherwise)


class Hit(msgspec.Struct, frozen=True):
    """One place where a codemod applies, and the program after it."""

    first: int
    """Line, from 1."""
    last: int
    """Line, from 1."""
    did: str
    """The change in words, for a list of them."""
    source: str
    """The whole program, changed here and nowhere else."""
    names: tuple[str, ...] = ()
    """Functions that it is about, to be compared with those that the trace saw."""
