"""An argument parser whose errors are ours, and the types of arguments that several commands take."""

from __future__ import annotations

import argparse
import os
import re
from typing import NoReturn

from tfadvisor.errors import UsageError

_COUNT = re.compile(r"^(\d+(?:\.\d+)?)\s*([kKmMbBgGtT]?)$")
_THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}

_WIDTH = 80


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would print its usage and end the process."""

    def __init__(self, **settings: object) -> None:
        """Texts of help keep their lines; options are never abbreviated, so that new ones break no script."""
        settings.setdefault("formatter_class", _formatter)
        super().__init__(allow_abbrev=False, **settings)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        """One line on stderr, exit code 2."""
        raise UsageError(f"{message}. Try '{self.prog} --help'.")


def _formatter(prog: str) -> argparse.HelpFormatter:
    """As wide as the terminal. argparse asks `shutil` for it each time an option is added, which imports 3 ms of libraries."""
    try:
        width = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(1).columns
    except (ValueError, OSError):
        width = _WIDTH
    return argparse.RawDescriptionHelpFormatter(prog, width=(width or _WIDTH) - 2)


def parameter_count(text: str) -> int:
    """`110M`, `6.7B` or `6,700,000,000`."""
    match = _COUNT.match(text.replace(",", "").replace("_", ""))
    if not match or float(match.group(1)) <= 0:
        raise argparse.ArgumentTypeError(f"{text}: give a number of parameters, as 110M or 6700000000")
    return round(float(match.group(1)) * _THOUSANDS[match.group(2).lower()])


def gigabytes_per_second(text: str) -> float:
    """A positive number."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: give GB/s above 0")
    return value


def step_range(text: str) -> tuple[int, int]:
    """`2:8`, `2:` or `:8`; the last step is not included."""
    match = re.match(r"^(\d+)?:(\d+)?$", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text}: give a range as 2:8, 2: or :8")
    first, last = match.groups()
    return int(first or 0), int(last) if last else 1 << 62
