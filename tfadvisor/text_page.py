"""Text for a terminal: lines wrapped to its width, and coloured by rich where that is
wanted.
"""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Sequence
from typing import TextIO, TypeAlias

import msgspec

from tfadvisor.html_fragments import as_ascii
from tfadvisor.printable import printable
from tfadvisor.units import number_of

WIDEST, NARROWEST = 110, 40
"""Columns. A line that is longer than the first is hard to read; below the second
nothing can be laid out.
"""
TITLE, DIM = "bold", "dim"

Piece: TypeAlias = str | tuple[str, str]
"""Text, or text and its style as rich names it: `bold red`. Markup in it means nothing.
"""
_Line: TypeAlias = list[tuple[str, str]]


class Screen(msgspec.Struct, frozen=True):
    """What a text is written for."""

    width: int = WIDEST
    """Columns."""
    colours: bool = False
    """Whether styles are sent."""
    ascii_only: bool = False
    """Whether every character must be ASCII."""
    more: str = "--details"
    """Where its reader finds what is left out."""


PLAIN = Screen()
"""A file: wide, without colours, in UTF-8."""


def screen_of(out: TextIO) -> Screen:
    """What a stream can show. COLUMNS, FORCE_COLOR, NO_COLOR and TERM=dumb are
    heeded.
    """
    encoding = getattr(out, "encoding", None) or "utf-8"
    in_utf = encoding.lower().startswith("utf")
    return Screen(
        _width(out),
        _wants_colours(out),
        ascii_only=not in_utf,
    )


def _width(out: TextIO) -> int:
    given = number_of(os.environ.get("COLUMNS", "")) or _columns_of(out)
    return max(min(given, WIDEST), NARROWEST)


def _columns_of(out: TextIO) -> int:
    if not out.isatty():
        return WIDEST
    try:
        return os.get_terminal_size(out.fileno()).columns or WIDEST
    except (OSError, ValueError):
        return WIDEST


def _wants_colours(out: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return out.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


class TextPage:
    """Text that grows line by line. Names from traces must be on one line and printable
    already.
    """

    def __init__(self, screen: Screen = PLAIN) -> None:
        """Nothing is written; `text` gives everything."""
        self.width = screen.width
        self.more = screen.more
        self._screen = screen
        self._lines: list[_Line] = []

    def line(self, *pieces: Piece) -> None:
        """One line, as it is."""
        self._lines.append([self._shown(piece) for piece in pieces])

    def flowing(
        self,
        parts: Sequence[Sequence[Piece]],
        indent: int,
    ) -> None:
        """Parts one after the other on as many lines as they need. A part, which ends
        with its own blanks, is never broken.

        indent: of every line but the first.
        """
        line: _Line = []
        column = 0

        for part in parts:
            shown = [self._shown(piece) for piece in part]
            text = "".join(text for text, _ in shown)

            if line and column + len(text.rstrip()) > self.width:
                self._lines.append(line)
                line = [(" " * indent, "")]
                column = indent

            for piece in shown:
                _append(line, piece)
            column += len(text)

        self._lines.append(line)

    def hanging(
        self,
        label: Piece,
        text: Piece,
        indent: int,
        margin: int = 0,
    ) -> None:
        """A label, and a paragraph from column `indent` on beside it. margin: columns
        before the label.

        Words are never broken, so that names and flags can be copied.
        """
        name, label_style = self._shown(label)
        words, style = self._shown(text)
        room = max(self.width - indent, NARROWEST // 2)
        wrapped = textwrap.wrap(
            words,
            room,
            break_on_hyphens=False,
            break_long_words=False,
        )
        first, *others = wrapped or [""]
        between = " " * max(indent - margin - len(name), 0)

        self._lines.append(
            [(" " * margin, ""), (name, label_style), (between, ""), (first, style)]
        )
        for other in others:
            self._lines.append([(" " * indent, ""), (other, style)])

    def code(self, snippet: str, style: str) -> None:
        """Lines that are never wrapped, so that they can be copied."""
        for line in printable(snippet).splitlines():
            self.line("       ", (line, style))

    def table(
        self,
        title: str,
        rows: Sequence[Sequence[str]],
        left: Sequence[int],
    ) -> None:
        """The first row is the heading; columns are right-aligned but for those in
        `left`, and left out where they are empty.
        """
        aligned: list[list[str]] = []
        for at, column in enumerate(zip(*rows, strict=True)):
            if any(column[1:]):
                cells = [self._shown(cell)[0] for cell in column]
                aligned.append(_aligned(cells, left=at in left))

        self.line((title, TITLE))
        style = DIM
        for row in zip(*aligned, strict=True) if aligned else [()] * len(rows):
            self.line(("  ".join(row).rstrip(), style))
            style = ""
        self.line()

    def text(self) -> str:
        """Everything so far, with the codes of colours where the screen takes them."""
        if self._screen.colours:
            return _coloured(self._lines)
        return "".join(_without_style(line) for line in self._lines)

    def _shown(self, piece: Piece) -> tuple[str, str]:
        text, style = piece if isinstance(piece, tuple) else (piece, "")
        return (as_ascii(text) if self._screen.ascii_only else text), style


def _append(
    line: _Line,
    piece: tuple[str, str],
) -> None:
    """Pieces of one style become one."""
    text, style = piece
    if line and line[-1][1] == style:
        line[-1] = (line[-1][0] + text, style)
    else:
        line.append(piece)


def _aligned(
    cells: Sequence[str],
    *,
    left: bool,
) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) if left else cell.rjust(width) for cell in cells]


def _without_style(line: _Line) -> str:
    return "".join(text for text, _ in line).rstrip() + "\n"


def _coloured(lines: Sequence[_Line]) -> str:
    from rich.console import Console  # 40 ms, which a pipe or a file need not wait for
    from rich.text import Text

    out = io.StringIO()
    console = Console(
        file=out,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        legacy_windows=False,
    )
    for line in lines:
        text = Text.assemble(*line)
        text.rstrip()
        console.print(
            text,
            soft_wrap=True,
            highlight=False,
            markup=False,
            emoji=False,
        )
    return out.getvalue()
