"""What an explanation consists of, and what can be explained."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Paragraph(msgspec.Struct, frozen=True):
    """A paragraph of plain text."""

    text: str
    indent: int = 0
    """Columns."""
    is_code: bool = False
    """Whether its lines stay as they are."""


class Explained(msgspec.Struct, frozen=True):
    """A name and what it means."""

    name: str
    kind: str
    """`rule`, `class of time`."""
    paragraphs: tuple[Paragraph, ...]


class Known(msgspec.Struct, frozen=True):
    """Something that can be explained."""

    names: tuple[str, ...]
    """Each of them is this one; the first is what it is called."""
    kind: str
    title: str
    """What it is about, in one line."""
    paragraphs: Callable[[], tuple[Paragraph, ...]]
    """Its explanation; asked only when it is wanted."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.names[0]

    def explained(self) -> Explained:
        """The whole explanation."""
        return Explained(self.name, self.kind, self.paragraphs())


def first_sentence(text: str) -> str:
    """Without its full stop."""
    return text.partition(". ")[0].rstrip(".\n")
