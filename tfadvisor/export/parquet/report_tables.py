"""The report as rows of the export's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from tfadvisor.report.model import Finding, Report
from tfadvisor.report.wording import evidence_words, location_words

Rows = Mapping[str, Sequence[Any]]


def report_tables(report: Report) -> dict[str, Rows]:
    """Name of a table -> its columns."""
    run, verdict, steps = report.run, report.verdict, report.steps
    return {
        "run": _columns(
            [
                {
                    "name": run.name,
                    "framework": run.framework,
                    "framework_version": run.framework_version,
                    "captured_at": run.captured_at,
                    "bottleneck": verdict.bottleneck,
                    "fraction": verdict.fraction,
                    "healthy": verdict.healthy,
                    "summary": verdict.summary,
                    "steps_source": steps.source,
                    "steps_confidence": steps.confidence,
                    "tool_version": report.tool.version,
                }
            ]
        ),
        "ops": _columns([asdict(op) for op in report.ops]),
        "time_by": _columns(
            [{"by": by, **asdict(part)} for by, parts in asdict(report.time_by).items() for part in parts]
        ),
        "metrics": _columns(
            [
                {"metric": name, "value": one.value, "unit": one.unit, "reason": one.reason}
                for name, one in report.metrics.items()
            ]
        ),
        "findings": _columns([_finding(rank, one) for rank, one in enumerate(report.findings, start=1)]),
        "fixes": _columns([row for rank, one in enumerate(report.findings, start=1) for row in _fixes(rank, one)]),
        "not_applicable": _columns([{"rule": one.rule_id, "reason": one.reason} for one in report.not_applicable]),
    }


def _finding(rank: int, one: Finding) -> dict[str, Any]:
    return {
        "rank": rank,
        "rule": one.rule_id,
        "category": one.category,
        "severity": one.severity.value,
        "title": one.title,
        "summary": one.summary,
        "saving_low": one.saving.low if one.saving else 0.0,
        "saving_high": one.saves,
        "basis": one.saving.basis if one.saving else "",
        "caveat": one.caveat,
        "claims": list(one.claims),
        "locations": [location_words(location) for location in one.locations],
        "evidence": [evidence_words(evidence) for evidence in one.evidence],
    }


def _fixes(rank: int, one: Finding) -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            "fix": number,
            "kind": fix.kind,
            "do": fix.do,
            "snippet": fix.snippet,
            "env": [f"{name}={value}" for name, value in fix.env.items()],
            "valid_for": fix.valid_for,
            "side_effect": fix.side_effect,
        }
        for number, fix in enumerate(one.fixes, start=1)
    ]


def _columns(rows: Sequence[Mapping[str, Any]]) -> Rows:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
