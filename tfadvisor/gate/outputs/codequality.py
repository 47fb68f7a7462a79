"""The verdict as Code Climate issues, in the subset that GitLab reads."""

from __future__ import annotations

import json

from tfadvisor.gate.judging.result import GateResult, Outcome
from tfadvisor.gate.outputs.sarif import fingerprint
from tfadvisor.gate.outputs.wording import location
from tfadvisor.report.printable import one_line

_SEVERITIES = {
    Outcome.FAIL: "critical",
    Outcome.BROKEN: "major",
    Outcome.WARN: "minor",
    Outcome.CANNOT_TELL: "info",
}


def as_codequality(verdict: GateResult) -> str:
    """One issue for everything that is neither a pass nor ignored; an empty list when all is well."""
    issues = []
    for check in verdict.checks:
        if check.outcome in _SEVERITIES:
            path, line = location(verdict, check)
            issues.append({
                "type": "issue",
                "check_name": check.id,
                "description": one_line(check.message),
                "categories": ["Performance"],
                "severity": _SEVERITIES[check.outcome],
                "fingerprint": fingerprint(verdict, check),
                "location": {"path": path.replace("\\", "/").removeprefix("./") or ".", "lines": {"begin": line}},
            })  # fmt: skip
    return json.dumps(issues, indent=2, ensure_ascii=True, allow_nan=False) + "\n"
