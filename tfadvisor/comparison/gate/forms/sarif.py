"""The verdict as SARIF 2.1.0, for code scanning. GitHub wants a location and a stable fingerprint for every result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tfadvisor.comparison.gate.forms.text import location, why
from tfadvisor.comparison.gate.result import Check, GateResult, Outcome
from tfadvisor.printable import one_line
from tfadvisor.report.forms.sarif import digest_of, help_of, place_at, sarif_log

_LEVELS = {
    Outcome.FAIL: "error",
    Outcome.BROKEN: "error",
    Outcome.WARN: "warning",
    Outcome.CANNOT_TELL: "note",
    Outcome.IGNORED: "warning",
}
_ASKS = {
    "budget": "A metric must stay within its budget.",
    "relative": "A metric must not get worse than in earlier runs by more than its limit.",
    "rule": "The advisor must not find this.",
}
_IF_MEANT = (
    "If the change is intended, `tfadvisor baseline accept` takes the new level; a limit is changed in tfadvisor.toml, and an "
    "[[ignore]] entry there waits until a day, with a reason."
)


def as_sarif(verdict: GateResult) -> str:
    """Results for everything that is no pass; what is ignored is suppressed with its reason."""
    told = [check for check in verdict.checks if check.outcome in _LEVELS]
    rules = list({check.id: _rule(check) for check in told}.values())
    numbers = {rule["id"]: at for at, rule in enumerate(rules)}
    results = [_result(verdict, check, numbers[check.id]) for check in told]
    return sarif_log(rules, results, automationDetails={"id": f"tfadvisor/{one_line(verdict.gated.model)}/"})


def _rule(check: Check) -> dict[str, Any]:
    return {
        "id": check.id,
        "name": check.name,
        "shortDescription": {"text": f"{check.name}: {_ASKS[check.kind]}"},
        "fullDescription": {"text": f"{_ASKS[check.kind]} {_IF_MEANT}"},
        "help": _help(check),
        "defaultConfiguration": {"level": "error" if check.level == "error" else "warning"},
        "properties": {"tags": ["performance", check.kind]},
    }


def _help(check: Check) -> dict[str, str]:
    """The edits of a finding; else what can be done about a limit."""
    if not check.fixes:
        return {"text": _IF_MEANT, "markdown": _IF_MEANT}
    return help_of(check.fixes)


def _result(verdict: GateResult, check: Check, at: int) -> dict[str, Any]:
    file, line = location(verdict, check)
    words = one_line(check.message)
    if check.outcome is Outcome.FAIL and check.kind == "relative" and (cause := why(verdict)):
        words = f"{words} {one_line(cause)}"
    result: dict[str, Any] = {
        "ruleId": check.id,
        "ruleIndex": at,
        "level": _LEVELS[check.outcome],
        "message": {"text": words},
        "locations": [place_at(file, line)] if file else [],
        "partialFingerprints": {"tfadvisorCheck/v1": fingerprint(verdict, check)},
    }
    if check.outcome is Outcome.IGNORED:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": words}]
    return result


def fingerprint(verdict: GateResult, check: Check) -> str:
    """The same for the same check of the same model, whatever its numbers."""
    gated = verdict.gated
    parts = (gated.model, gated.framework, gated.devices, str(gated.hosts), check.id, check.file)
    return digest_of(parts)


# Places of a verdict as files that are there: reports name a program's file without its folder, and a preset has
# none.

_MOST_FILES = 50_000
_NOT_SOURCES = ("node_modules", "site-packages", "venv", "build", "dist", "__pycache__")
_INSTEAD = ("pyproject.toml", "README.md", "README.rst", "README")
"""What stands for a configuration that nobody has written: code scanning takes nothing without a file."""


def with_places(verdict: GateResult, folder: Path) -> GateResult:
    """The verdict with places below a folder. A file that is not there, or several times, is none."""
    names = {Path(check.file).name for check in verdict.checks if check.file}
    found = _found(folder, names) if names else {}
    checks = tuple(_placed(check, folder, found) for check in verdict.checks)
    own = verdict.config if (folder / verdict.config).is_file() else ""
    instead = next((name for name in _INSTEAD if (folder / name).is_file()), "")
    return replace(verdict, checks=checks, config=own or instead)


def _placed(check: Check, folder: Path, found: dict[str, list[str]]) -> Check:
    if not check.file:
        return check
    as_named = Path(check.file)
    if not as_named.is_absolute() and os.pardir not in as_named.parts and (folder / as_named).is_file():
        return check
    places = [one for one in found.get(as_named.name, []) if _is_meant(as_named, Path(one), folder)]
    if len(places) != 1:
        return replace(check, file="", file_line=None)
    return replace(check, file=places[0])


def _is_meant(named: Path, one: Path, folder: Path) -> bool:
    """Whether a file below the folder is the named one: of a bare name any, else one whose last folder is the same."""
    if len(named.parts) == 1 or named == folder / one:
        return True
    common = min(len(named.parts), len(one.parts))
    return common > 1 and named.parts[-common:] == one.parts[-common:]


def _found(folder: Path, names: set[str]) -> dict[str, list[str]]:
    """Where files of these names lie, relative to the folder."""
    places: dict[str, list[str]] = {}
    for file in islice(_files(folder), _MOST_FILES):
        if file.name in names:
            places.setdefault(file.name, []).append(file.relative_to(folder).as_posix())
    return places


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in _NOT_SOURCES)
        yield from (Path(at) / one for one in sorted(files))
