"""Fields of a JSON file from elsewhere, by the type that they must have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from tfadvisor.errors import AdvisorError

_MOST_ROWS = 2000
_LONGEST = 4000
_HUGE = 1e30
T = TypeVar("T")


class SnapshotError(AdvisorError):
    """A snapshot that cannot be used: what is wrong with it, in one sentence."""


class Reader:
    """Fields of a JSON object. Every method raises SnapshotError for one that is missing or of another type."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        """found: the object, as JSON was read."""
        self._found = found

    def value(self, name: str, kind: type[T]) -> T:
        """A field of a type; true and false are no numbers."""
        if name not in self._found:
            raise SnapshotError(f"`{name}` is missing")
        value = self._found[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise SnapshotError(f"`{name}` is no {kind.__name__}")
        return value

    def text(self, name: str) -> str:
        """A text of at most 4,000 characters."""
        return _short(self.value(name, str), name)

    def count(self, name: str) -> int:
        """A whole number from 0 on that a float holds."""
        found = self.value(name, int)
        if not 0 <= found < 1 << 53:
            raise SnapshotError(f"`{name}` is not a count")
        return found

    def texts(self, name: str) -> dict[str, str]:
        """Texts by name."""
        found = self.value(name, dict)
        if not all(isinstance(value, str) for value in found.values()):
            raise SnapshotError(f"`{name}` holds something that is not text")
        return {_short(key, name): _short(value, name) for key, value in found.items()}

    def numbers(self, name: str) -> dict[str, float]:
        """Numbers by name, without those that are null."""
        found = self.value(name, dict)
        return {key: _finite(value, name) for key, value in found.items() if value is not None}

    def rows(self, name: str) -> list[list[Any]]:
        """At most 2,000 lists."""
        rows = self.value(name, list)
        if len(rows) > _MOST_ROWS or not all(isinstance(row, list) for row in rows):
            raise SnapshotError(f"`{name}` is not a list of at most {_MOST_ROWS:,} rows")
        return rows


def number(row: Any, name: str, at: int) -> float:
    """The finite number at a place of a row of `name`. Raises SnapshotError."""
    if not isinstance(row, list) or len(row) <= at:
        raise SnapshotError(f"`{name}` has a row that is too short")
    return _finite(row[at], name)


def word(row: Any, name: str, at: int) -> str:
    """The text at a place of a row of `name`. Raises SnapshotError."""
    if not isinstance(row, list) or len(row) <= at or not isinstance(row[at], str):
        raise SnapshotError(f"`{name}` has a row without the text that belongs there")
    return _short(row[at], name)


def _finite(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_HUGE < value < _HUGE:
        raise SnapshotError(f"`{name}` holds something that is not a number")
    return float(value)


def _short(text: str, name: str) -> str:
    if len(text) > _LONGEST:
        raise SnapshotError(f"`{name}` holds a text of {len(text):,} characters")
    return text
