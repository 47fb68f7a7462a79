"""Small JSON files that are there whole or not at all."""

from __future__ import annotations

import json
import os
from typing import Any

_open = open  # as it was before the program put another in its place


def write_letter(
    file: str,
    letter: dict[str, Any],
) -> None:
    """Raises OSError."""
    unfinished = f"{file}.{os.getpid()}.part"
    with _open(unfinished, "w", encoding="utf-8") as out:
        json.dump(letter, out)
    os.replace(unfinished, file)


def read_letter(file: str) -> dict[str, Any] | None:
    """None where there is none."""
    try:
        with _open(file, encoding="utf-8") as text:
            found = json.load(text)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
