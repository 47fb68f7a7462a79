"""Where the gate's configuration lies, and its TOML."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.errors import UsageError
from tfadvisor.files import read_small_text
from tfadvisor.gate.config.toml_lines import Path as KeyPath
from tfadvisor.gate.config.toml_lines import line_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAME = "tfadvisor.toml"
_IN_PROJECT = ("tool", "tfadvisor")
_LARGEST = 1 << 20


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
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
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
    return int(number) if number.isdigit() else max(len(text.splitlines()), 1)
