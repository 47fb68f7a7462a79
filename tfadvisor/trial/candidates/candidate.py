"""One thing to try."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Promise(msgspec.Struct, frozen=True):
    """What a finding said that a change would save, as a range of shares of step time."""

    low: float
    """0..1."""
    high: float
    """0..1."""


class Candidate(msgspec.Struct, frozen=True):
    """A change of the program or of its environment."""

    name: str
    """As the user knows it, one of a trial."""
    texts: Mapping[str, str] = {}
    """By real path, the whole file with the change."""
    env: Mapping[str, str] = {}
    """Variables that are set."""
    rule_id: str = ""
    """Of the finding that asks for it, "" for none."""
    category: str = ""
    """Of that finding."""
    change: str = ""
    """The codemod, or the kind of the change: patch, env, `pass NAME`, several."""
    promise: Promise | None = None
    check: str = "values"
    """What must stay as it is: batches, values or none."""
    effect: str = ""
    """What else changes, in words."""
