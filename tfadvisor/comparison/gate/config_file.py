"""Where the gate's configuration lies, and its TOML."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import update_wrapper
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from tfadvisor.did_you_mean import nearest
from tfadvisor.errors import UsageError
from tfadvisor.files import read_small_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = "tfadvisor.toml"
_IN_PROJECT = ("tool", "tfadvisor")
_LARGEST = 1 << 20
_MOST_DOTS = 500


class ConfigError(UsageError):
    """A configuration that cannot be used: file, line, key, what is wrong with it."""

    def __init__(self, file: str, line: int, key: str, cause: str) -> None:
        """Line counts from 1; key is dotted, "" for the whole file."""
        super().__init__(f"{file}:{line}: {key + ': ' if key else ''}{cause}")
        self.file = file
        self.line = line
        self.key = key


class ConfigFile(msgspec.Struct, frozen=True):
    """A configuration as written. prefix: where in the file it begins (`tool.tfadvisor` in a pyproject.toml)."""

    path: str
    text: str
    values: Mapping[str, Any]
    prefix: tuple[str, ...]

    def line(self, key: KeyPath) -> int:
        """The line on which a key stands."""
        return line_of(self.text, (*self.prefix, *key)) if self.text else 1

    def error(self, key: KeyPath, cause: str) -> ConfigError:
        """An error about a key."""
        dotted = ".".join(str(part) for part in (*self.prefix, *key))
        return ConfigError(self.path, self.line(key), dotted, cause)


NO_FILE = ConfigFile(NAME, "", {}, ())


def find_config(start: Path) -> ConfigFile:
    """`tfadvisor.toml`, else `[tool.tfadvisor]` of `pyproject.toml`, in this folder or the next one up that has either.

    The search ends at the root of a repository. Nothing found is no error.
    """
    for folder in (start, *start.parents):
        own, project = folder / NAME, folder / "pyproject.toml"
        if own.is_file():
            return read_config(own, _shown(own))
        if project.is_file():
            found = read_config(project, _shown(project))
            if found.values:
                return found
        if (folder / ".git").exists():
            break
    return NO_FILE


def read_config(path: Path, shown: str = "") -> ConfigFile:
    """Raises ConfigError for what is no TOML, UsageError for what cannot be read. shown: how the file is called."""
    shown = shown or str(path)
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{shown}: larger than 1 MiB, so it is not a configuration. Check the path.")
        text = read_small_text(path, _LARGEST)
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown}: is not text in UTF-8 (byte {error.start:,}).") from error
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count(".") > _MOST_DOTS:
            raise ConfigError(shown, number, "", f"has more than {_MOST_DOTS} dots in a line, which no key needs.")
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a ValueError of a number of thousands of digits
        raise ConfigError(shown, _line_in(str(error), text), "", f"is no TOML: {error}.") from error
    if path.name != "pyproject.toml":
        return ConfigFile(shown, text, values, ())
    tools = values.get("tool", {})
    own = tools.get("tfadvisor", {}) if isinstance(tools, dict) else {}
    if not isinstance(own, dict):
        raise ConfigError(shown, line_of(text, _IN_PROJECT), "tool.tfadvisor", "is not a table.")
    return ConfigFile(shown, text, own, _IN_PROJECT)


def _shown(file: Path) -> str:
    """From the working directory, as a repository's tools want it."""
    return os.path.relpath(file)


def _line_in(message: str, text: str) -> int:
    """The parser's messages end with `(at line 3, column 5)` or `(at end of document)`."""
    number = message.rpartition("at line ")[2].split(",")[0]
    return int(number) if number.isdecimal() else max(len(text.splitlines()), 1)


# On which line of a TOML text a key stands: parsers return values without their places.

_HEADER = re.compile(r"^\s*(\[\[?)([^\[\]]+)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=(.*)$"""
)
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+)""")
KeyPath = tuple[str | int, ...]


def line_of(text: str, path: KeyPath) -> int:
    """The line, from 1, of the key at this path (`("override", 0, "relative", "step_time_ms")`).

    Where a path's end is not found (a key of an inline table, which is on one line), the line of as much of it as is; 1
    when nothing is.
    """
    lines = _lines_of_keys(text)
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def _lines_of_keys(text: str) -> dict[KeyPath, int]:
    """Every table header and every key at the start of a line, outside of multi-line strings."""
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    closing = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if header := _HEADER.match(line):
            table = _resolved(_parts(header.group(2)), counts)
            if header.group(1) == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            path = table
            for part in _parts(key.group(1)):
                path = (*path, part)
                found.setdefault(path, number)
            closing = _left_open(key.group(2))
    return found


def _resolved(parts: KeyPath, counts: dict[KeyPath, int]) -> KeyPath:
    """`override.relative` below `[[override]]` -> ("override", 0, "relative")."""
    path: KeyPath = ()
    for index, part in enumerate(parts):
        path = (*path, part)
        if path in counts and index < len(parts) - 1:
            path = (*path, counts[path])
    return path


def _parts(dotted: str) -> KeyPath:
    return tuple(next(group for group in match.groups() if group is not None) for match in _PART.finditer(dotted))


def _left_open(value: str) -> str:
    """The quotes that a multi-line string beginning here still needs."""
    for quotes in ('"""', "'''"):
        if value.count(quotes) % 2:
            return quotes
    return ""


# Single values of a configuration by the type that they must have, or an error that names file, line and key.


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

    def note(self, at: KeyPath, cause: str) -> None:
        """Something is wrong with a key."""
        self.mistakes.append(self._file.error(at, cause))

    def written_at(self, at: KeyPath) -> int:
        """The line of a key; 0 in a preset."""
        return self._file.line(at) if self._file.text else 0

    def table(self, value: Any, at: KeyPath, allowed: Sequence[str] | None) -> dict[str, Any]:
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
    def text(self, values: Mapping[str, Any], at: KeyPath) -> str | None:
        """A text that is not empty."""
        value = values.get(str(at[-1]))
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self._file.error(at, "is not text, or an empty one.")
        return value

    def texts(self, values: Mapping[str, Any], at: KeyPath) -> tuple[str, ...]:
        """A list of texts; a single one counts as a list."""
        value = values.get(str(at[-1]), [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            self.note(at, "is not a list of patterns.")
            return ()
        return tuple(value)

    @noting
    def whole(self, values: Mapping[str, Any], at: KeyPath, least: int, most: int) -> int | None:
        """A whole number within bounds."""
        value = values.get(str(at[-1]))
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._file.error(at, f"is not a whole number from {least} to {most:,}.")
        return value

    def choice(self, values: Mapping[str, Any], at: KeyPath, allowed: Sequence[str]) -> str | None:
        """One of some words."""
        value = values.get(str(at[-1]))
        return None if value is None else self.one_of(value, at, allowed)

    def first_choice(
        self, values: Mapping[str, Any], at: KeyPath, names: Sequence[str], allowed: Sequence[str]
    ) -> str | None:
        """The same under the first of several names that is given."""
        return next((found for name in names if (found := self.choice(values, (*at, name), allowed))), None)

    @noting
    def one_of(self, value: Any, at: KeyPath, allowed: Sequence[str]) -> str:
        """A value that is given and must be one of some words."""
        if not isinstance(value, str) or value not in allowed:
            near = meant(value, allowed) if isinstance(value, str) else "."
            raise self._file.error(at, f"is {_said(value)}, and must be one of {', '.join(allowed)}{near}")
        return value

    @noting
    def rate(self, values: Mapping[str, Any], at: KeyPath) -> float | None:
        """A rate of false alarms."""
        rate = self._share(values, at)
        if rate is not None and not 1e-6 <= rate <= 0.2:
            raise self._file.error(at, "must lie between 0.0001% and 20%.")
        return rate

    @noting
    def share(self, values: Mapping[str, Any], at: KeyPath) -> float | None:
        """`"5%"` or `0.05`."""
        return self._share(values, at)

    def _share(self, values: Mapping[str, Any], at: KeyPath) -> float | None:
        number = self._number(values, at)
        if number is not None and number < 0:
            raise self._file.error(at, "is below 0.")
        if number is not None and number > 10 and not isinstance(values[str(at[-1])], str):
            raise self._file.error(at, f'is {number:g} times; did you mean "{number:g}%"?')
        return number

    @noting
    def amount(self, values: Mapping[str, Any], at: KeyPath, unit: str) -> float | None:
        """A number in a metric's unit; per cent for fractions only."""
        if isinstance(values.get(str(at[-1])), str) and unit != "fraction":
            raise self._file.error(at, f"is not a number of {unit}.")
        return self._number(values, at)

    def _number(self, values: Mapping[str, Any], at: KeyPath) -> float | None:
        value = values.get(str(at[-1]))
        if value is None:
            return None
        if isinstance(value, str) and (match := _PERCENT.match(value)):
            return float(match.group(1)) / 100
        if isinstance(value, bool) or not isinstance(value, int | float) or not -_HUGE < value < _HUGE:
            raise self._file.error(at, f'is {_said(value)}, and must be a number or a share such as "5%".')
        return float(value)

    @noting
    def day(self, values: Mapping[str, Any], at: KeyPath) -> date:
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
            raise self._file.error(at, f"is {_said(value)}, and must be a day, such as 2026-12-31.") from None


def meant(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: `; did you mean preset?` where one name is near, else a full stop."""
    near = nearest(name, known)
    return f"; did you mean {near}?" if near is not None else "."


def _said(value: Any) -> str:
    return f"{value!r:.60}"
