"""Text from traces made harmless for a terminal, a page or Markdown: control characters shown, never sent."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """Control and direction-changing characters as `\\x1b`; tab and newline stay."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text)


def one_line(text: str) -> str:
    """Printable, with every run of white space as one blank."""
    return " ".join(printable(text).split())


def in_markdown(text: str) -> str:
    """On one line, without meaning for Markdown, and without links."""
    return re.sub(r"([\\`*_{}\[\]()<>#+!|~])", r"\\\1", one_line(text)).replace("://", ":\u200b//")
