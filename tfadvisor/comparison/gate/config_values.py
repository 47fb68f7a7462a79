"""Single values of a configuration by the type that they must have, or an error that names file, line and key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from tfadvisor.comparison.gate.config_file import ConfigError, ConfigFile
from tfadvisor.comparison.gate.config_file import KeyPath as Path
from tfadvisor.did_you_mean import nearest

_PERCENT = re.compile(r"^\s*([+-]?\d+(?:\.\d+)?)\s*%\s*$")
_HUGE = 1e300
_MOST_KEYS = 1_000
"""Of a table: there are fewer metrics and rules."""
T = TypeVar("T")
P = ParamSpec("P")


def noting(method: Callable[Concatenate[Values, P], T]) -> Callable[Concatenate[Values, P], T | None]:
    """The method, which notes what is wrong and returns None instead of raising it, so that reading goes on."""

    def reads_on(self: Values, /, *arguments: P.args, **named: P.kwargs) -> T | None:
        try:
            return method(self, *arguments, **named)
        except ConfigError as error:
            self.mistakes.append(error)
            return None

    update_wrapper(reads_on, method)
    return reads_on


class Values:
    """Every method takes the table that it reads from, and the path of what it reads, for its error.

    What is wrong is noted in `mistakes` and counts as not given.
    """

    def __init__(self, file: ConfigFile) -> None:
        """The file is where errors point to."""
        self._file = file
        self.mistakes: list[ConfigError] = []

    def note(self, at: Path, cause: str) -> None:
        """Something is wrong with a key."""
        self.mistakes.append(self._file.error(at, cause))

    def written_at(self, at: Path) -> int:
        """The line of a key; 0 in a preset."""
        return self._file.line(at) if self._file.text else 0

    def table(self, value: Any, at: Path, allowed: Sequence[str] | None) -> dict[str, Any]:
        """A table with no other keys than the allowed ones."""
        if not isinstance(value, dict):
            self.note(at, "is not a table.")
            return {}
        if len(value) > _MOST_KEYS:
            self.note(at, f"has more than {_MOST_KEYS} keys.")
            return {}
        for key in value:
            if allowed is not None and key not in allowed:
                self.note((*at, key), f"is not known here{meant(key, allowed)}")
        return value

    def tables(self, values: Mapping[str, Any], name: str) -> Iterable[tuple[int, Any]]:
        """The entries of a `[[name]]`, with their numbers."""
        found = values.get(name, [])
        if not isinstance(found, list):
            self.note((name,), f"must be written [[{name}]], because there can be several.")
            return ()
        return enumerate(found)

    @noting
    def text(self, values: Mapping[str, Any], at: Path) -> str | None:
        """A text that is not empty."""
        value = values.get(str(at[-1]))
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self._file.error(at, "is not text, or an empty one.")
        return value

    def texts(self, values: Mapping[str, Any], at: Path) -> tuple[str, ...]:
        """A list of texts; a single one counts as a list."""
        value = values.get(str(at[-1]), [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            self.note(at, "is not a list of patterns.")
            return ()
        return tuple(value)

    @noting
    def whole(self, values: Mapping[str, Any], at: Path, least: int, most: int) -> int | None:
        """A whole number within bounds."""
        value = values.get(str(at[-1]))
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._file.error(at, f"is not a whole number from {least} to {most:,}.")
        return value

    def choice(self, values: Mapping[str, Any], at: Path, allowed: Sequence[str]) -> str | None:
        """One of some words."""
        value = values.get(str(at[-1]))
        return None if value is None else self.one_of(value, at, allowed)

    def first_choice(
        self, values: Mapping[str, Any], at: Path, names: Sequence[str], allowed: Sequence[str]
    ) -> str | None:
        """The same under the first of several names that is given."""
        return next((found for name in names if (found := self.choice(values, (*at, name), allowed))), None)

    @noting
    def one_of(self, value: Any, at: Path, allowed: Sequence[str]) -> str:
        """A value that is given and must be one of some words."""
        if not isinstance(value, str) or value not in allowed:
            near = meant(value, allowed) if isinstance(value, str) else "."
            raise self._file.error(at, f"is {_shown(value)}, and must be one of {', '.join(allowed)}{near}")
        return value

    @noting
    def rate(self, values: Mapping[str, Any], at: Path) -> float | None:
        """A rate of false alarms."""
        rate = self._share(values, at)
        if rate is not None and not 1e-6 <= rate <= 0.2:
            raise self._file.error(at, "must lie between 0.0001% and 20%.")
        return rate

    @noting
    def share(self, values: Mapping[str, Any], at: Path) -> float | None:
        """`"5%"` or `0.05`."""
        return self._share(values, at)

    def _share(self, values: Mapping[str, Any], at: Path) -> float | None:
        number = self._number(values, at)
        if number is not None and number < 0:
            raise self._file.error(at, "is below 0.")
        if number is not None and number > 10 and not isinstance(values[str(at[-1])], str):
            raise self._file.error(at, f'is {number:g} times; did you mean "{number:g}%"?')
        return number

    @noting
    def amount(self, values: Mapping[str, Any], at: Path, unit: str) -> float | None:
        """A number in a metric's unit; per cent for fractions only."""
        if isinstance(values.get(str(at[-1])), str) and unit != "fraction":
            raise self._file.error(at, f"is not a number of {unit}.")
        return self._number(values, at)

    def _number(self, values: Mapping[str, Any], at: Path) -> float | None:
        value = values.get(str(at[-1]))
        if value is None:
            return None
        if isinstance(value, str) and (match := _PERCENT.match(value)):
            return float(match.group(1)) / 100
        if isinstance(value, bool) or not isinstance(value, int | float) or not -_HUGE < value < _HUGE:
            raise self._file.error(at, f'is {_shown(value)}, and must be a number or a share such as "5%".')
        return float(value)

    @noting
    def day(self, values: Mapping[str, Any], at: Path) -> date:
        """A day, as TOML writes it or as a text."""
        value = values.get(str(at[-1]))
        if value is None:
            raise self._file.error(at, "is missing: the last day to ignore this, such as 2026-12-31.")
        if isinstance(value, datetime):
            return value.date()
        if isinstance(value, date):
            return value
        try:
            return date.fromisoformat(value)
        except (TypeError, ValueError):
            raise self._file.error(at, f"is {_shown(value)}, and must be a day, such as 2026-12-31.") from None


def meant(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: `; did you mean preset?` where one name is near, else a full stop."""
    near = nearest(name, known)
    return f"; did you mean {near}?" if near is not None else "."


def _shown(value: Any) -> str:
    return f"{value!r:.60}"
