"""The findings as SARIF 2.1.0, for editors and code scanning: each at its file and
line, where the trace names them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from tfadvisor.advice.findings import Finding, Fix
from tfadvisor.printable import one_line, printable
from tfadvisor.report.forms.markdown import fix_lines
from tfadvisor.report.model import Report
from tfadvisor.report.wording import advice, questions, saving_words, takes_words
from tfadvisor.version import VERSION
from tfadvisor.vocabulary import Severity

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
    Severity.INFO: "note",
}


def as_sarif(report: Report) -> str:
    """Findings about the program in their order, then questions. A file outside of the
    working folder is no location.
    """
    found = [*advice(report), *questions(report)]
    there = files_below(
        Path.cwd(), [place.file for one in found for place in one.locations]
    )
    return sarif_log(
        [_rule(one) for one in found],
        [_result(report, one, at, there) for at, one in enumerate(found)],
    )


def sarif_log(
    rules: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]], **run: Any
) -> str:
    """A log of one run of tfadvisor. run: further properties of it."""
    driver = {"name": "tfadvisor", "version": VERSION, "rules": list(rules)}
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, **run, "results": list(results)}],
    }
    return json.dumps(log, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def help_of(fixes: Sequence[Fix]) -> dict[str, str]:
    """The edits, as text and as Markdown."""
    lines = [line for fix in fixes for line in fix_lines(fix)]
    words = [f"{one_line(fix.do)}\n{printable(fix.snippet)}".strip() for fix in fixes]
    return {"text": "\n\n".join(words), "markdown": "\n".join(lines).strip()}


def place_at(file: str, line: int | None) -> dict[str, Any]:
    """A location; line: None where only the file is known."""
    place: dict[str, Any] = {
        "artifactLocation": {"uri": quote(file.replace("\\", "/"))}
    }
    if line is not None and line > 0:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


def digest_of(parts: Sequence[str]) -> str:
    """A fingerprint of words that stay the same whatever the numbers."""
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()


def _rule(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.rule_id,
        "shortDescription": {"text": one_line(finding.title)},
        "help": help_of(finding.fixes),
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
        "properties": {
            "tags": [
                "performance",
                finding.category,
                *([finding.tier] if finding.tier else []),
            ]
        },
    }


def _result(
    report: Report, finding: Finding, at: int, there: Mapping[str, str]
) -> dict[str, Any]:
    saving = saving_words(finding.saving)
    words = f"{one_line(finding.summary)}{f' Saves {saving}.' if saving else ''}"
    if finding.ask is not msgspec.UNSET:
        takes = takes_words(finding)
        words = (
            f"Worth checking: {one_line(finding.ask)} "
            f"{one_line(finding.summary)}{f' It {takes}.' if takes else ''}"
        )
    return {
        "ruleId": finding.rule_id,
        "ruleIndex": at,
        "level": _LEVELS[finding.severity],
        "message": {"text": words},
        "locations": [
            place_at(there[one.file], one.line)
            for one in finding.locations
            if there.get(one.file)
        ],
        "partialFingerprints": {"tfadvisorFinding/v1": _fingerprint(report, finding)},
    }


def _fingerprint(report: Report, finding: Finding) -> str:
    """The same for the same finding at the same place, whatever its numbers."""
    places = (f"{one.file}:{one.op}" for one in finding.locations)
    return digest_of((report.run.framework, finding.rule_id, *places))


# Files that a report names, as they lie below a folder: reports name a program's file
# without its folder, and a trace may name any file.

_MOST_FILES = 50_000
_NOT_SOURCES = ("node_modules", "site-packages", "venv", "build", "dist", "__pycache__")


def files_below(folder: Path, named: Iterable[str]) -> dict[str, str]:
    """Of each file that is named: the file below the folder that is meant, relative to
    it; "" where none or several may be.
    """
    wanted = {one for one in named if one}
    names = {Path(one).name for one in wanted}
    there = (
        [file for file in islice(_files(folder), _MOST_FILES) if file.name in names]
        if wanted
        else []
    )
    return {one: _meant(Path(one), folder, there) for one in wanted}


def _meant(named: Path, folder: Path, there: Sequence[Path]) -> str:
    with suppress(OSError):  # a name that is too long for a file
        if (
            not named.is_absolute()
            and os.pardir not in named.parts
            and (folder / named).is_file()
        ):
            return str(named)
    meant = [one for one in there if _is_meant(named, one.relative_to(folder), folder)]
    return meant[0].relative_to(folder).as_posix() if len(meant) == 1 else ""


def _is_meant(named: Path, one: Path, folder: Path) -> bool:
    """Whether a file below the folder is the named one: of a bare name any, else one
    whose last folder is the same.
    """
    common = min(len(named.parts), len(one.parts))
    alike = named.parts[-common:] == one.parts[-common:]
    return named == folder / one or (alike and (common > 1 or len(named.parts) == 1))


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(
            one
            for one in folders
            if not one.startswith(".") and one not in _NOT_SOURCES
        )
        yield from (Path(at) / one for one in sorted(files))
