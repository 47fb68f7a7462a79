"""The one writer of text for a terminal: lines wrapped to its width, and coloured by rich where that is wanted."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from typing import TextIO

import msgspec

from tfadvisor.report.ascii_text import as_ascii
from tfadvisor.report.printable import printable

WIDEST, NARROWEST = 110, 40
"""Columns. A line that is longer than the first is hard to read; below the second nothing can be laid out."""
TITLE, DIM = "bold", "dim"


class Screen(msgspec.Struct, frozen=True):
    """What a text is written for."""

    width: int = WIDEST
    """Columns."""
    colours: bool = False
    """Whether styles are sent."""
    ascii_only: bool = False
    """Whether every character must be ASCII."""


PLAIN = Screen()
"""A file: wide, without colours, in UTF-8."""


def screen_of(out: TextIO) -> Screen:
    """What a stream can show. COLUMNS, FORCE_COLOR, NO_COLOR and TERM=dumb are heeded."""
    encoding = (getattr(out, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
    return Screen(_width(out), _wants_colours(out), not encoding.startswith("utf"))


def _width(out: TextIO) -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        width = int(given)
    elif out.isatty():
        try:
            width = os.get_terminal_size(out.fileno()).columns or WIDEST
        except (OSError, ValueError):
            width = WIDEST
    else:
        width = WIDEST
    return max(min(width, WIDEST), NARROWEST)


def _wants_colours(out: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return out.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


Piece = str | tuple[str, str]
"""Text, or text and its style as rich names it: `bold red`. Markup in it means nothing."""


class TextPage:
    """Text that grows line by line. Names from traces must be on one line and printable already."""

    def __init__(self, screen: Screen = PLAIN) -> None:
        """Nothing is written; `text` gives everything."""
        self.width = screen.width
        self._screen = screen
        self._lines: list[list[tuple[str, str]]] = []

    def line(self, *pieces: Piece) -> None:
        """One line, as it is."""
        self._lines.append([self._shown(*(piece if isinstance(piece, tuple) else (piece, ""))) for piece in pieces])

    def flowing(self, parts: Sequence[Sequence[Piece]], indent: int) -> None:
        """Parts one after the other on as many lines as they need. A part, which ends with its own blanks, is never broken.

        indent: of every line but the first.
        """
        line: list[tuple[str, str]] = []
        column = 0
        for part in parts:
            shown = [self._shown(*(piece if isinstance(piece, tuple) else (piece, ""))) for piece in part]
            length = sum(len(text) for text, _ in shown)
            blanks = len(shown[-1][0]) - len(shown[-1][0].rstrip())
            if line and column + length - blanks > self.width:
                self._lines.append(line)
                line, column = [(" " * indent, "")], indent
            for text, style in shown:
                if line and line[-1][1] == style:
                    line[-1] = (line[-1][0] + text, style)
                else:
                    line.append((text, style))
            column += length
        self._lines.append(line)

    def hanging(self, label: Piece, text: Piece, indent: int, margin: int = 0) -> None:
        """A label, and a paragraph from column `indent` on beside it. margin: columns before the label.

        Words are never broken, so that names and flags can be copied.
        """
        (name, label_style), (words, style) = (
            self._shown(*(one if isinstance(one, tuple) else (one, ""))) for one in (label, text)
        )
        room = max(self.width - indent, NARROWEST // 2)
        first, *others = textwrap.wrap(words, room, break_on_hyphens=False, break_long_words=False) or [""]
        between = " " * max(indent - margin - len(name), 0)
        self._lines.append([(" " * margin, ""), (name, label_style), (between, ""), (first, style)])
        self._lines += [[(" " * indent, ""), (other, style)] for other in others]

    def code(self, snippet: str, style: str) -> None:
        """Lines that are never wrapped, so that they can be copied."""
        for line in printable(snippet).splitlines():
            self.line("       ", (line, style))

    def table(self, title: str, rows: Sequence[Sequence[str]], left: Sequence[int]) -> None:
        """The first row is the heading; columns are right-aligned but for those in `left`."""
        shown = [[self._shown(cell, "")[0] for cell in row] for row in rows]
        widths = [max(len(row[column]) for row in shown) for column in range(len(shown[0]))]
        self.line((title, TITLE))
        for number, row in enumerate(shown):
            cells = [
                cell.ljust(widths[column]) if column in left else cell.rjust(widths[column])
                for column, cell in enumerate(row)
            ]
            self.line(("  ".join(cells).rstrip(), "" if number else DIM))
        self.line()

    def text(self) -> str:
        """Everything so far, with the codes of colours where the screen takes them."""
        if self._screen.colours:
            return _coloured(self._lines)
        return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in self._lines)

    def _shown(self, text: str, style: str) -> tuple[str, str]:
        return (as_ascii(text) if self._screen.ascii_only else text), style


def _coloured(lines: Sequence[Sequence[tuple[str, str]]]) -> str:
    import io

    from rich.console import Console  # 40 ms, which a pipe or a file need not wait for
    from rich.text import Text

    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", no_color=False, legacy_windows=False)
    for line in lines:
        text = Text.assemble(*line)
        text.rstrip()
        console.print(text, soft_wrap=True, highlight=False, markup=False, emoji=False)
    return out.getvalue()
