"""How much of a host is drawn."""

from __future__ import annotations

import msgspec


class Drawing(msgspec.Struct, frozen=True):
    """Which steps are drawn, and with how many events."""

    most_events: int
    """Of the median and of the worst step each."""
    other_events: int = 0
    """Of all other steps together."""
    step: int | None = None
    """Only this one, by its index, with all of its threads."""
