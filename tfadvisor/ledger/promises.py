"""How true the promises were: predicted ranges beside measured savings, by class and in all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import msgspec

from tfadvisor.ledger.entries import Entry
from tfadvisor.report.model import Tool
from tfadvisor.report.plain import plain
from tfadvisor.version import VERSION

SCHEMA_VERSION = "1"
ALL = "all"


class Promises(msgspec.Struct, frozen=True):
    """Of one class of findings. All numbers but the first are None without any that was kept or broken."""

    category: str
    """`all` for all of them."""
    count: int
    """Measured savings of findings that promised something."""
    inside: float | None
    """Share of those whose measured saving lies in the predicted range."""
    bias: float | None
    """Mean of predicted middle less measured saving, as a share of step time: above 0 too much was promised."""
    median_error: float | None
    """Median distance of the predicted middle from the measured saving, as a share of step time."""


class Accounts(msgspec.Struct, frozen=True):
    """What a ledger says."""

    promises: tuple[Promises, ...]
    """All together first, then each class."""
    entries: tuple[Entry, ...]
    """The oldest first."""
    unread: int
    """Lines that could not be read."""
    tool: Tool = Tool("tfadvisor", VERSION)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first."""
        whole: dict[str, Any] = plain(self)
        return {"schema_version": SCHEMA_VERSION, "tool": whole.pop("tool"), **whole}


def accounts_of(entries: Sequence[Entry], unread: int) -> Accounts:
    """entries: the oldest first."""
    judged = _judged(entries)
    classes = sorted({one.category for one in judged if one.category})
    return Accounts(
        (
            _promises(ALL, judged),
            *(_promises(name, [one for one in judged if one.category == name]) for name in classes),
        ),
        tuple(entries),
        unread,
    )


def _judged(entries: Iterable[Entry]) -> list[Entry]:
    """A finding promises what its fix saves: of several changes for it in one trial the best counts."""
    best: dict[tuple[str, str], Entry] = {}
    for one in entries:
        if one.predicted is None or one.ratio is None or not one.rule:
            continue
        key = one.trial, one.rule
        before = best.get(key)
        if before is None or before.ratio is None or one.ratio < before.ratio:
            best[key] = one
    return list(best.values())


def _promises(name: str, judged: Sequence[Entry]) -> Promises:
    pairs = [(one.predicted, 1 - one.ratio) for one in judged if one.predicted is not None and one.ratio is not None]
    if not pairs:
        return Promises(name, 0, None, None, None)
    errors = [(low + high) / 2 - saved for (low, high), saved in pairs]
    inside = sum(low <= saved <= high for (low, high), saved in pairs)
    return Promises(name, len(pairs), inside / len(pairs), sum(errors) / len(errors), median(map(abs, errors)))
