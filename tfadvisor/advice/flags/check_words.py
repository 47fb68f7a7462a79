"""What was found about flags, as text for people and as plain data for machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tfadvisor.advice.flags.advice import LEVELS, Remark
from tfadvisor.advice.flags.check import CheckedFlags, JudgedSetting
from tfadvisor.units import counted

SCHEMA_VERSION = "1"

_LONGEST = 200
"""Characters of a flag's help; some go on for a page."""


class Line(msgspec.Struct, frozen=True):
    """label: error, warning, note or ok, "" for a line that goes on. indent: columns
    beyond the label's.

    quiet: less important than the rest.
    """

    text: str
    label: str = ""
    indent: int = 0
    quiet: bool = False


def lines(checked: CheckedFlags) -> Iterator[Line]:
    """The report from top to bottom, not yet wrapped."""
    judged = checked.note or f"judged by {checked.library} {checked.version}"
    yield Line(f"XLA's flags are {judged}.", quiet=True)
    yield Line("", quiet=True)
    for setting in checked.settings:
        yield Line(setting.setting.written, setting.level)
        if not setting.remarks and setting.about:
            yield Line(_cut(setting.about), indent=2, quiet=True)
        for remark in setting.remarks:
            yield Line(f"{remark.kind}: {remark.text}", indent=2)
            yield from _rest(remark)
    for remark in checked.together:
        yield Line(remark.text, remark.level)
        yield from _rest(remark)
    yield Line("", quiet=True)
    yield Line(_sum(checked))


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    start, _, _ = text[: _LONGEST - 1].rpartition(" ")
    return f"{start} …"


def _rest(remark: Remark) -> Iterator[Line]:
    if remark.instead:
        yield Line(f"instead: {remark.instead}", indent=2)
    if remark.source:
        yield Line(remark.source, indent=2, quiet=True)


def _sum(checked: CheckedFlags) -> str:
    levels = [remark.level for remark in checked.all_remarks()]
    number = len(checked.settings)
    settings = counted(str(number), "setting", "settings")
    counts = [counted(str(levels.count(level)), level, f"{level}s") for level in LEVELS]
    return f"{settings}: {', '.join(counts)}"


def as_data(checked: CheckedFlags) -> dict[str, Any]:
    """For JSON; fields may be added under the same `schema_version`, never renamed or
    removed.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "library": checked.library,
        "version": checked.version,
        "version_note": checked.note,
        "settings": [_setting(setting) for setting in checked.settings],
        "together": [msgspec.structs.asdict(remark) for remark in checked.together],
    }


def _setting(judged: JudgedSetting) -> dict[str, Any]:
    return {
        "variable": judged.setting.variable,
        "name": judged.setting.name,
        "value": judged.setting.value,
        "written": judged.setting.written,
        "level": judged.level,
        "about": judged.about,
        "remarks": [msgspec.structs.asdict(remark) for remark in judged.remarks],
    }
