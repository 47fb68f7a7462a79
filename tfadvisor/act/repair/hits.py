"""What a codemod gets and answers, and the function of each."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec

from tfadvisor.advice.codemods import CODEMODS
from tfadvisor.units import number_of


class FaultPlace(msgspec.Struct, frozen=True):
    """Where the finding says that its fault stands. Empty where the trace does not
    tell.
    """

    lines: tuple[int, ...] = ()
    """In the program at hand, from 1."""
    names: tuple[str, ...] = ()
    """Functions that the trace saw there."""
    snippets: str = ""
    """What the finding's fixes prescribe for this run, one after another."""
    told: bool = False
    """Whether the trace names this program's file."""

    def number(
        self,
        pattern: str,
        otherwise: int,
    ) -> str:
        """The number that the fixes prescribe, so that a patch writes what the text
        says; of a pattern with one group.
        """
        found = re.search(pattern, self.snippets)
        if found is None:
            return str(otherwise)
        number = number_of(found[1]) or 0
        return found[1] if number > 1 else str(otherwise)


class Edit(msgspec.Struct, frozen=True):
    """What is put in place of some bytes of a program, in UTF-8."""

    first: int
    last: int
    """The one behind them."""
    text: str


class Hit(msgspec.Struct, frozen=True):
    """One place where a codemod applies, and what it changes there and nowhere else."""

    first: int
    """Line, from 1."""
    last: int
    """Line, from 1."""
    did: str
    """The change in words, for a list of them."""
    before: bytes
    """The whole program."""
    edits: tuple[Edit, ...]
    names: tuple[str, ...] = ()
    """Functions that it is about, to be compared with those that the trace saw."""

    @property
    def source(self) -> str:
        """The whole program after it."""
        whole = self.before
        for edit in sorted(self.edits, key=lambda change: change.first, reverse=True):
            before, behind = whole[: edit.first], whole[edit.last :]
            whole = before + edit.text.encode() + behind
        return whole.decode()


def load(name: str) -> Callable[[Any, FaultPlace], list[Hit]]:
    """A codemod's function."""
    module = import_module(f"tfadvisor.act.repair.codemods.{CODEMODS[name].module}")
    hits: Callable[[Any, FaultPlace], list[Hit]]
    hits = getattr(module, name.replace("-", "_"))
    return hits
