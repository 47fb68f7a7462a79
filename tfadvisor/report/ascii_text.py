"""Text for terminals and files that take no UTF-8: the signs that outputs use, in ASCII."""

from __future__ import annotations

_SIGNS = {
    "–": "-",
    "—": "-",
    "−": "-",
    "•": "*",
    "·": "|",
    "…": "...",
    "→": "->",
    "←": "<-",
    "×": "x",
    "µ": "u",
    "≈": "~",
    "≤": "<=",
    "≥": ">=",
    "±": "+/-",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "✅": "[ok]",
    "❌": "[failed]",
    "⚠️": "[!]",
    "\u00a0": " ",
    "\u202f": " ",
}


def as_ascii(text: str) -> str:
    """The text with our signs in ASCII; any other character as `\\xe9`, so that nothing is lost."""
    for sign, instead in _SIGNS.items():
        text = text.replace(sign, instead)
    return text.encode("ascii", "backslashreplace").decode("ascii")
