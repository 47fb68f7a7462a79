"""Findings of the report at the level that the configuration gives their rules."""

from __future__ import annotations

from tfadvisor.gate.config.resolved import Config
from tfadvisor.gate.judging.result import Check, Outcome
from tfadvisor.report.model import Finding, Report


def check_rules(config: Config, report: Report) -> list[Check]:
    """One check a finding; findings whose level is off make none."""
    levels = [config.rule_level(finding.rule_id, finding.severity.value) for finding in report.findings]
    return [
        _check(finding, level, line)
        for finding, (level, line) in zip(report.findings, levels, strict=True)
        if level != "off"
    ]


def _check(finding: Finding, level: str, line: int) -> Check:
    place = finding.locations[0] if finding.locations else None
    fixes = "".join(f" {fix.do}" for fix in finding.fixes[:1])
    return Check(
        kind="rule",
        name=finding.rule_id,
        level=level,
        outcome=Outcome.FAIL if level == "error" else Outcome.WARN,
        message=f"{finding.title}. {finding.summary}{fixes}",
        file=place.file if place else "",
        file_line=place.line if place else None,
        line=line,
        fixes=finding.fixes,
    )
