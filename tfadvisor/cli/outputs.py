"""Where a command writes: standard output or a file, never into what it reads; messages on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tfadvisor.errors import UsageError
from tfadvisor.files import replace_file
from tfadvisor.report.printable import printable


def check_outside(output: Path, paths: Sequence[Path], option: str) -> None:
    """Raises UsageError when a file would be written into what is analysed."""
    target = output.resolve()
    for path in paths:
        folder = path.resolve()
        if target == folder or (folder.is_dir() and folder in target.parents):
            raise UsageError(
                f"{option} {output} lies in {path}, and nothing is written into what is analysed. Give another place."
            )


def write_output(output: Path | None, text: str, option: str) -> None:
    """To a file, whole or not at all, or to standard output."""
    if output is None:
        sys.stdout.write(text)
        return
    try:
        replace_file(output, text)
    except OSError as error:
        raise UsageError(f"{option} {output}: cannot be written: {error.strerror or error}.") from error


def note(message: str) -> None:
    """A line on stderr."""
    sys.stderr.write(f"tfadvisor: {printable(message)}\n")
