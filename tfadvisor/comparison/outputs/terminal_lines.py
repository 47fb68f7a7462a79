"""Lines for a terminal: wrapped to its width, coloured where that is wanted."""

from __future__ import annotations

import os
import textwrap
from typing import TextIO

BOLD, DIM = "1", "2"
RED, GREEN, YELLOW = "1;31", "32", "33"
WHITE_ON_RED, BLACK_ON_GREEN, BLACK_ON_YELLOW = "1;97;41", "1;30;42", "1;30;43"
_WIDEST = 110


class Page:
    """Text that grows line by line. Colours only on a terminal and without NO_COLOR."""

    def __init__(self, out: TextIO) -> None:
        """Width and colours are those of the stream."""
        self._width = _width(out)
        self._colours = out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._lines: list[str] = []

    def styled(self, text: str, style: str) -> str:
        """Text in a style, where there are colours."""
        return f"\x1b[{style}m{text}\x1b[0m" if self._colours and style else text

    def line(self, text: str = "", style: str = "") -> None:
        """One line, as it is."""
        self._lines.append(self.styled(text, style).rstrip() if not style else self.styled(text, style))

    def hanging(self, label: str, text: str, width: int, style: str = "") -> None:
        """A label in a column of this width, and a paragraph beside it."""
        pieces = textwrap.wrap(
            text, max(self._width - width - 2, 30), break_on_hyphens=False, break_long_words=False
        ) or [""]
        self._lines.append(f"  {self.styled(label, style)}{' ' * max(width - len(label), 1)}{pieces[0]}".rstrip())
        self._lines += [" " * (width + 2) + piece for piece in pieces[1:]]

    def text(self) -> str:
        """Everything so far."""
        return "\n".join(self._lines) + "\n"


def _width(out: TextIO) -> int:
    if not out.isatty():
        return _WIDEST
    try:
        return max(min(os.get_terminal_size(out.fileno()).columns or _WIDEST, _WIDEST), 50)
    except (OSError, ValueError):
        return _WIDEST
