"""Findings with the program's own lines: those that they point to, and those that their
fixes change.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import Finding, Fix, Location

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource


def with_own_lines(
    findings: tuple[Finding, ...], source: ProgramSource | None
) -> tuple[Finding, ...]:
    """As they are where the program's source is not known."""
    if source is None:
        return findings
    return tuple(
        replace(
            finding,
            locations=tuple(_shown(place, source) for place in finding.locations),
            fixes=tuple(_before(fix, finding, source) for fix in finding.fixes),
        )
        for finding in findings
    )


def _shown(place: Location, source: ProgramSource) -> Location:
    text = source.text_at(place.file, place.line)
    return replace(place, text=text or msgspec.UNSET)


def _before(fix: Fix, finding: Finding, source: ProgramSource) -> Fix:
    """With the loop that calls the function which the finding points to, where the
    example before the fix calls it, and one place of the program does.
    """
    function = finding.locations[0].op if finding.locations else ""
    example = fix.before if isinstance(fix.before, str) else ""
    if not function or not re.search(rf"(?<!def )\b{re.escape(function)}\(", example):
        return fix
    lines = source.loop_calling(function)
    return replace(fix, before=lines) if lines else fix
