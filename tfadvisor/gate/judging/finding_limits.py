"""Findings of the report at the level that the configuration gives their rules, and new ones at a level of their own."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.gate.baseline.comparable_runs import Baseline
from tfadvisor.gate.baseline.snapshot import Snapshot
from tfadvisor.gate.config.resolved import Config
from tfadvisor.gate.judging.ratchet import News, Standing, standing_of
from tfadvisor.gate.judging.result import Check, Outcome
from tfadvisor.report.model import Finding, Report


def check_rules(
    config: Config, report: Report, candidates: Sequence[Snapshot] = (), baseline: Baseline | None = None
) -> list[Check]:
    """One check a finding; findings whose level is off make none. New ones fail from a severity on, known ones are debt."""
    found = []
    for finding in report.findings:
        level, line = config.rule_level(finding.rule_id, finding.severity.value)
        if level == "off":
            continue
        standing = Standing(News.UNKNOWN)
        if baseline is not None and finding.category != "capture":
            standing = standing_of(finding, candidates, baseline, config.fewest_runs)
        if standing.news is News.NEW and config.fails_when_new(finding.rule_id, finding.severity):
            level = "error"
        found.append(_check(finding, level, line, standing))
    return found


def _check(finding: Finding, level: str, line: int, standing: Standing) -> Check:
    place = finding.locations[0] if finding.locations else None
    fixes = "".join(f" {fix.do}" for fix in finding.fixes[:1])
    return Check(
        kind="rule",
        name=finding.rule_id,
        level=level,
        outcome=Outcome.FAIL if level == "error" else Outcome.WARN,
        message=f"{_first_words(standing)}{finding.title}. {finding.summary}{fixes}",
        file=place.file if place else "",
        file_line=place.line if place else None,
        line=line,
        fixes=finding.fixes,
        news=standing.news.name.lower(),
        since=standing.since,
    )


def _first_words(standing: Standing) -> str:
    if standing.news is News.KNOWN:
        return f"Debt since {standing.since}: " if standing.since else "Debt: "
    if standing.news is News.NEW:
        return "New: "
    return "New, but no number that it rests on moved beyond noise: " if standing.news is News.ON_THE_EDGE else ""
