"""What can be said about one setting."""

from __future__ import annotations

import msgspec

ERROR, WARNING, NOTE = "error", "warning", "note"
LEVELS = (ERROR, WARNING, NOTE)
"""error: the process ends at its start, or the setting is not read at all. warning: it works against speed, or not as
its writer thought. note: worth knowing."""


class Remark(msgspec.Struct, frozen=True):
    """kind: unknown, removed, renamed, deprecated, misplaced, value, default, duplicate, conflict, dangerous, unread,
    not-recorded, or effect, which is what a value does beside what it is for.

    instead: what to write, "" when there is nothing. source: a page, "" when a recorded library said so itself.
    """

    kind: str
    level: str
    text: str
    instead: str = ""
    source: str = ""


def about_value(level: str, text: str, source: str) -> Remark:
    """A value that does harm, or something that is worth knowing."""
    return Remark("effect" if level == NOTE else "dangerous", level, text, "", source)
