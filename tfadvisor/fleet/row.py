"""A run as a row of the table: what its report says, in columns."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec

from tfadvisor.report.model import Finding, Report

SCHEMA_VERSION = "1"
"""Of the table. Columns may be added; one that is renamed or removed makes a new version."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Every field is a column of the table; None where the trace does not tell."""

    place: str
    """The run's folder or file, or its address. No two rows have the same."""
    run: str
    """The run's name below the source that it was found in."""
    recorded_at: datetime | None = None
    """When it was recorded, UTC."""
    team: str | None = None
    """By `--labels`."""
    model: str | None = None
    """By `--labels`; else the first folder below the source."""
    job: str | None = None
    """By `--labels`."""
    framework: str | None = None
    """tensorflow, jax, pytorch-xla or unknown."""
    framework_version: str | None = None
    """As the trace says."""
    hosts: int | None = None
    """That could be read."""
    devices: int | None = None
    """That worked in the run."""
    device_kind: str | None = None
    """gpu, tpu or cpu, of the first device."""
    device_model: str | None = None
    """As `NVIDIA H100`, of the first device."""
    steps: int | None = None
    """Counted, on the host that has most."""
    confidence: float | None = None
    """In the steps, 0..1."""
    step_time_ms: float | None = None
    """Median, ms."""
    step_time_p95_ms: float | None = None
    """95% of the steps take no longer, ms."""
    window_ms: float | None = None
    """From the first event of the trace to the last, ms."""
    verdict: str | None = None
    """What costs most: input, host, launch, compile, transfer, collective, imbalance, memory, compute, none or unknown."""
    verdict_fraction: float | None = None
    """Its share of step time, 0..1."""
    healthy: bool | None = None
    """Whether nothing costs enough to act on."""
    compute: float | None = None
    """Share of step time, 0..1, as the seven that follow: together they are 1."""
    collective: float | None = None
    """Exposed collectives."""
    transfer: float | None = None
    """Exposed copies."""
    input: float | None = None
    """Waiting for the next batch."""
    launch: float | None = None
    """Launching ops or kernels."""
    compile: float | None = None
    """Tracing, compiling, autotuning."""
    host: float | None = None
    """Other work of the host."""
    idle: float | None = None
    """Nothing known."""
    findings: int | None = None
    """How many."""
    finding: str | None = None
    """Id of the first one's rule."""
    finding_title: str | None = None
    """In words."""
    finding_severity: str | None = None
    """critical, high, medium, low or info."""
    finding_place: str | None = None
    """As `train.py:41`, where the trace names the line, else the op."""
    saving_low: float | None = None
    """What the first finding could save at least, share of step time."""
    saving_high: float | None = None
    """And at most."""
    error: str | None = None
    """Why there is no report, None where there is one."""
    error_kind: str | None = None
    """trace (the files are at fault), unreachable (the store is; tried again next time), killed or bug."""
    stamp: str
    """Changes when a file of the run does: of names, sizes, and etags or times of change."""
    rules: str
    """Changes with the rules and options that the row was made with."""
    tool: str
    """The version of tfadvisor that made it."""
    there: bool = True
    """False once the run is gone from its source; the row stays."""


def columns_of(report: Report) -> dict[str, object]:
    """The columns that a report fills."""
    run, steps, times = report.run, report.steps, report.steps.time_ms
    first = run.devices[0] if run.devices else None
    return {
        "recorded_at": _time(run.captured_at),
        "framework": run.framework,
        "framework_version": run.framework_version,
        "hosts": len(run.hosts),
        "devices": len(run.devices),
        "device_kind": first.kind if first else None,
        "device_model": first.model if first else None,
        "steps": steps.count,
        "confidence": steps.confidence,
        "step_time_ms": times.median if times else None,
        "step_time_p95_ms": times.p95 if times else None,
        "window_ms": run.window_ms,
        "verdict": report.verdict.bottleneck,
        "verdict_fraction": report.verdict.fraction,
        "healthy": report.verdict.healthy,
        **(report.breakdown if times else {}),
        **_finding_columns(report.findings),
    }


def _finding_columns(findings: tuple[Finding, ...]) -> dict[str, object]:
    costing = [one for one in findings if one.category != "capture" and not one.is_question]
    if not costing:
        return {"findings": 0}
    first = costing[0]
    return {
        "findings": len(costing),
        "finding": first.rule_id,
        "finding_title": first.title,
        "finding_severity": first.severity.value,
        "finding_place": _place_of(first),
        "saving_low": first.saving.low if first.saving else 0.0,
        "saving_high": first.saves,
    }


def _place_of(finding: Finding) -> str | None:
    for one in finding.locations:
        if one.file:
            return f"{one.file}:{one.line}" if one.line else one.file
    return next((one.op for one in finding.locations if one.op), None)


def _time(iso: str | None) -> datetime | None:
    if iso is None:
        return None
    found = datetime.fromisoformat(iso.replace("Z", "+00:00"))
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
