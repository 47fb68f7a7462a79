"""What was found about flags, as text for people and as plain data for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tfadvisor.advice.flags.advice import LEVELS, Remark
from tfadvisor.advice.flags.check import Checked, Judged

SCHEMA_VERSION = "1"

_LONGEST = 200
"""Characters of a flag's help; some go on for a page."""


class Line(msgspec.Struct, frozen=True):
    """label: error, warning, note or ok, "" for a line that goes on. indent: columns
    beyond the label's.

    quiet: less important than the rest.
    """

    label: str
    text: str
    indent: int
    quiet: bool


def lines(checked: Checked) -> Iterator[Line]:
    """The report from top to bottom, not yet wrapped."""
    judged = checked.note or f"judged by {checked.library} {checked.version}"
    yield Line("", f"XLA's flags are {judged}.", 0, True)
    yield Line("", "", 0, True)
    for one in checked.settings:
        yield Line(one.level, one.setting.written, 0, False)
        if not one.remarks and one.about:
            yield Line("", _cut(one.about), 2, True)
        for remark in one.remarks:
            yield Line("", f"{remark.kind}: {remark.text}", 2, False)
            yield from _rest(remark)
    for remark in checked.together:
        yield Line(remark.level, remark.text, 0, False)
        yield from _rest(remark)
    yield Line("", "", 0, True)
    yield Line("", _sum(checked), 0, False)


def _cut(text: str) -> str:
    return (
        text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rsplit(' ', 1)[0]} …"
    )


def _rest(remark: Remark) -> Iterator[Line]:
    if remark.instead:
        yield Line("", f"instead: {remark.instead}", 2, False)
    if remark.source:
        yield Line("", remark.source, 2, True)


def _sum(checked: Checked) -> str:
    levels = [one.level for one in checked.all_remarks()]
    counts = [
        f"{levels.count(level)} {level}{'s' if levels.count(level) != 1 else ''}"
        for level in LEVELS
    ]
    return (
        f"{len(checked.settings)} "
        f"setting{'s' if len(checked.settings) != 1 else ''}: {', '.join(counts)}"
    )


def as_data(checked: Checked) -> dict[str, Any]:
    """For JSON; fields may be added under the same `schema_version`, never renamed or
    removed.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "library": checked.library,
        "version": checked.version,
        "version_note": checked.note,
        "settings": [_setting(one) for one in checked.settings],
        "together": [msgspec.structs.asdict(one) for one in checked.together],
    }


def _setting(one: Judged) -> dict[str, Any]:
    return {
        "variable": one.setting.variable,
        "name": one.setting.name,
        "value": one.setting.value,
        "written": one.setting.written,
        "level": one.level,
        "about": one.about,
        "remarks": [msgspec.structs.asdict(remark) for remark in one.remarks],
    }
