"""The verdict as SARIF 2.1.0, and the place in the repository that each result points
to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tfadvisor.comparison.gate.forms.text import location, with_cause
from tfadvisor.comparison.gate.result import Check, GateResult, Outcome
from tfadvisor.printable import one_line
from tfadvisor.report.forms.sarif import (
    digest_of,
    files_below,
    help_of,
    place_at,
    sarif_log,
)

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
    "If the change is intended, `tfadvisor baseline accept` takes the new level; a "
    "limit is changed in tfadvisor.toml, and an "
    "[[ignore]] entry there waits until a day, with a reason."
)


def as_sarif(verdict: GateResult) -> str:
    """Results for everything that is no pass; what is ignored is suppressed with its
    reason.
    """
    told = [check for check in verdict.checks if check.outcome in _LEVELS]
    rules = list({check.id: _rule(check) for check in told}.values())
    numbers = {rule["id"]: at for at, rule in enumerate(rules)}
    results = [_result(verdict, check, numbers[check.id]) for check in told]
    return sarif_log(
        rules,
        results,
        automationDetails={"id": f"tfadvisor/{one_line(verdict.gated.model)}/"},
    )


def _rule(check: Check) -> dict[str, Any]:
    return {
        "id": check.id,
        "name": check.name,
        "shortDescription": {"text": f"{check.name}: {_ASKS[check.kind]}"},
        "fullDescription": {"text": f"{_ASKS[check.kind]} {_IF_MEANT}"},
        "help": help_of(check.fixes)
        if check.fixes
        else {"text": _IF_MEANT, "markdown": _IF_MEANT},
        "defaultConfiguration": {
            "level": "error" if check.level == "error" else "warning"
        },
        "properties": {"tags": ["performance", check.kind]},
    }


def _result(verdict: GateResult, check: Check, at: int) -> dict[str, Any]:
    file, line = location(verdict, check)
    words = with_cause(verdict, check)
    result: dict[str, Any] = {
        "ruleId": check.id,
        "ruleIndex": at,
        "level": _LEVELS[check.outcome],
        "message": {"text": words},
        "locations": [place_at(file, line)] if file else [],
        "partialFingerprints": {"tfadvisorCheck/v1": fingerprint(verdict, check)},
    }
    if check.outcome is Outcome.IGNORED:
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": words}
        ]
    return result


def fingerprint(verdict: GateResult, check: Check) -> str:
    """The same for the same check of the same model, whatever its numbers."""
    gated = verdict.gated
    parts = (
        gated.model,
        gated.framework,
        gated.devices,
        str(gated.hosts),
        check.id,
        check.file,
    )
    return digest_of(parts)


# Places of a verdict as files that are there: reports name a program's file without its
# folder, and a preset has none.

_INSTEAD = ("pyproject.toml", "README.md", "README.rst", "README")
"""What stands for a configuration that nobody has written: code scanning takes nothing
without a file.
"""


def with_places(verdict: GateResult, folder: Path) -> GateResult:
    """The verdict with places below a folder. A file that is not there, or several
    times, is none.
    """
    found = files_below(folder, [check.file for check in verdict.checks])
    checks = tuple(
        check
        if found.get(check.file) == check.file or not check.file
        else replace(
            check,
            file=found[check.file],
            file_line=check.file_line if found[check.file] else None,
        )
        for check in verdict.checks
    )
    own = verdict.config if (folder / verdict.config).is_file() else ""
    instead = next((name for name in _INSTEAD if (folder / name).is_file()), "")
    return replace(verdict, checks=checks, config=own or instead)
