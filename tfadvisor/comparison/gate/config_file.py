"""Where the gate's configuration lies, and its TOML."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

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
    """A configuration as written. prefix: where in the file it begins (`tool.tfadvisor`
    in a pyproject.toml).
    """

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
    """`tfadvisor.toml`, else `[tool.tfadvisor]` of `pyproject.toml`, in this folder or
    the next one up that has either.

    The search ends at the root of a repository. Nothing found is no error.
    """
    for folder in (start, *start.parents):
        own, project = folder / NAME, folder / "pyproject.toml"
        if own.is_file():
            return read_config(own, os.path.relpath(own))
        if project.is_file():
            found = read_config(project, os.path.relpath(project))
            if found.values:
                return found
        if (folder / ".git").exists():
            break
    return NO_FILE


def read_config(path: Path, shown: str = "") -> ConfigFile:
    """Raises ConfigError for what is no TOML, UsageError for what cannot be read.
    shown: how the file is called.
    """
    shown = shown or str(path)
    text = _text_of(path, shown)
    values = _values(text, shown)
    if path.name != "pyproject.toml":
        return ConfigFile(shown, text, values, ())

    tools = values.get("tool", {})
    own = tools.get("tfadvisor", {}) if isinstance(tools, dict) else {}
    if not isinstance(own, dict):
        line = line_of(text, _IN_PROJECT)
        raise ConfigError(shown, line, "tool.tfadvisor", "is not a table.")
    return ConfigFile(shown, text, own, _IN_PROJECT)


def _text_of(path: Path, shown: str) -> str:
    """Raises UsageError for a file that cannot be read or is no configuration."""
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(
                f"{shown}: larger than 1 MiB, so it is not a configuration. Check "
                "the path."
            )
        return read_small_text(path, _LARGEST)
    except OSError as error:
        raise UsageError(
            f"{shown}: cannot be read: {error.strerror or error}."
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{shown}: is not text in UTF-8 (byte {error.start:,})."
        ) from error


def _values(text: str, shown: str) -> dict[str, Any]:
    """Raises ConfigError for what is no TOML, or takes all time to read."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.count(".") > _MOST_DOTS:
            cause = f"has more than {_MOST_DOTS} dots in a line, which no key needs."
            raise ConfigError(shown, number, "", cause)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # a ValueError of a number of thousands of digits, too
        line_number = _line_in(str(error), text)
        raise ConfigError(shown, line_number, "", f"is no TOML: {error}.") from error


def _line_in(message: str, text: str) -> int:
    """The parser's messages end with `(at line 3, column 5)` or `(at end of
    document)`.
    """
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
    """The line, from 1, of the key at this path (`("ignore", 0, "reason")`).

    Where a path's end is not found (a key of an inline table, which is on one line),
    the line of as much of it as is; 1 when nothing is.
    """
    lines = _lines_of_keys(text)
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def _lines_of_keys(text: str) -> dict[KeyPath, int]:
    """Every table header and every key at the start of a line, outside of multi-line
    strings.
    """
    found: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    closing = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        key = _KEY.match(line)
        if closing:
            closing = "" if closing in line else closing
        elif header:
            table = _parts(header.group(2))
            if header.group(1) == "[[":
                found.setdefault(table, number)
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            found.setdefault(table, number)
        elif key:
            path = table
            for part in _parts(key.group(1)):
                path = (*path, part)
                found.setdefault(path, number)
            closing = _left_open(key.group(2))
    return found


def _parts(dotted: str) -> KeyPath:
    return tuple(
        next(group for group in match.groups() if group is not None)
        for match in _PART.finditer(dotted)
    )


def _left_open(value: str) -> str:
    """The quotes that a multi-line string beginning here still needs."""
    for quotes in ('"""', "'''"):
        if value.count(quotes) % 2:
            return quotes
    return ""
