"""What belongs to one key together: numbers added up, or all that there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_Number = TypeVar("_Number", int, float)


def added_up(pairs: Iterable[tuple[_Key, _Number]]) -> dict[_Key, _Number]:
    """The sum of each key's numbers; keys in the order in which they come first."""
    found: dict[_Key, _Number] = {}
    for key, number in pairs:
        found[key] = found.get(key, 0) + number
    return found


def listed(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """All values of each key, in order; keys in the order in which they come first."""
    found: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
