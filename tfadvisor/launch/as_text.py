"""A launch line for people, and as plain data for machines."""

from __future__ import annotations

from typing import Any

import msgspec

from tfadvisor.flags.as_text import Line
from tfadvisor.launch.line import LaunchLine
from tfadvisor.report.model import Report
from tfadvisor.report.wording import run_line

SCHEMA_VERSION = "1"


def lines(report: Report, line: LaunchLine) -> list[Line]:
    """From top to bottom, not yet wrapped: the line, each setting with its reason, what is not in it."""
    out = [Line("", run_line(report), 0, True), Line("", "", 0, True)]
    out.append(Line("", line.text if line.settings else "No flag or variable is worth setting for this run.", 0, False))
    if line.note:
        out.append(Line("", f"XLA's flags are {line.note}.", 0, True))
    for one in line.settings:
        out += [Line("", "", 0, True), Line("", one.written, 0, False)]
        asked = f"{one.rule_id}: {one.reason}" if one.rule_id else one.reason
        out.append(Line("", f"{asked}{f' ({one.saving})' if one.saving else ''}", 2, False))
        if one.side_effect:
            out.append(Line("", one.side_effect, 2, True))
    out += [Line("", "", 0, True)] if line.remarks or line.left_out else []
    out += [Line("", f"note: {text}", 0, True) for text in line.remarks]
    out += [Line("", f"left out: {one.written}: {one.why}", 0, True) for one in line.left_out]
    return out


def as_data(report: Report, line: LaunchLine) -> dict[str, Any]:
    """For JSON; fields may be added under the same `schema_version`, never renamed or removed."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": report.run.name,
        "framework": report.run.framework,
        "framework_version": report.run.framework_version,
        "line": line.text,
        "note": line.note,
        "settings": [{**msgspec.structs.asdict(one), "written": one.written} for one in line.settings],
        "left_out": [msgspec.structs.asdict(one) for one in line.left_out],
        "remarks": list(line.remarks),
    }
