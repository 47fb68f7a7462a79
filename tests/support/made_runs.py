"""Snapshots on paper: a run of so many ms a step, with what a test is about changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfadvisor.comparison.baseline.snapshot import Key, Snapshot
from tfadvisor.comparison.gate.config import Config
from tfadvisor.comparison.side import KnownFinding, Side, Traits
from tfadvisor.report.model import Op
from tfadvisor.vocabulary import TIME_CLASSES, Better, Scatter

QUIET = Config(
    file="tfadvisor.toml",
    keep=10,
    false_alarm_rate=0.01,
    on_cannot_tell="fail",
    on_not_comparable="fail",
    new_findings="high",
    budgets=(),
    relative=(),
    severity={},
    rules=(),
    ignores=(),
)
"""A configuration that asks nothing."""

UNITS = {
    "step_time_ms": "ms",
    "kernels_per_step": "count",
    "collectives_per_step": "count",
    "retraces_in_steady_state": "count",
    "input_bound_fraction": "fraction",
    "fp16_kernel_share": "fraction",
    "h2d_bytes_per_step": "bytes",
    "allreduce_bus_gb_s": "GB/s",
}


_LESS, _MORE = Better.LESS, Better.MORE
TRAITS = {
    "step_time_ms": Traits(_LESS, Scatter.FACTOR),
    "kernels_per_step": Traits(_LESS, Scatter.EXACT),
    "collectives_per_step": Traits(_LESS, Scatter.EXACT),
    "retraces_in_steady_state": Traits(_LESS, Scatter.EXACT),
    "input_bound_fraction": Traits(_LESS, Scatter.SHARE),
    "fp16_kernel_share": Traits(_MORE, Scatter.EXACT),
    "h2d_bytes_per_step": Traits(_LESS, Scatter.EXACT),
    "allreduce_bus_gb_s": Traits(_MORE, Scatter.FACTOR),
}


def op(
    name: str, ms: float, count: float = 1.0, kind: str = "compute", **known: object
) -> Op:
    """An op; known: opcode, flops, bytes, file, line, module."""
    nothing = dict.fromkeys(("module", "opcode", "flops", "bytes", "file", "line"))
    time = {"share": 0.0, "ms_per_step": ms, "count_per_step": count}
    fields: dict[str, Any] = {**nothing, **time, **known}
    return Op(op=None, kernel=name, kind=kind, precision=None, **fields)


def side(
    ms: float = 100.0,
    ops: Sequence[Op] = (),
    classes: Mapping[str, float] | None = None,
    metrics: Mapping[str, float] | None = None,
    error: float | None = 0.01,
    name: str = "run",
    findings: Sequence[KnownFinding] = (),
    rest: Mapping[str, float] | None = None,
) -> Side:
    """A run whose classes are compute unless given. error: of the median, ms."""
    given = dict(classes or {})
    split = {one: given.get(one, 0.0) for one in TIME_CLASSES}
    if "compute" not in given:
        split["compute"] = ms - sum(split.values())
    values = {"step_time_ms": ms, **(metrics or {})}
    return Side(
        name=name,
        steps=20,
        mean_ms=ms,
        median_ms=ms,
        median_error_ms=error,
        class_ms=split,
        class_error_ms=dict.fromkeys(TIME_CLASSES, 0.0),
        ops=tuple(ops),
        rest_ms=dict(rest or {}),
        metrics=values,
        units={metric: UNITS[metric] for metric in values},
        traits={metric: TRAITS[metric] for metric in values},
        findings=tuple(findings),
    )


_made = 0


def snapshot(
    ms: float = 100.0,
    *,
    model: str = "default",
    framework: str = "jax",
    devices: str = "1 gpu NVIDIA H100",
    hosts: int = 1,
    labels: Mapping[str, str] | None = None,
    about: Mapping[str, str] | None = None,
    fingerprint: str | None = None,
    recorded_at: str = "2026-01-02T03:04:05+00:00",
    level: int = 0,
    error: float | None = 0.01,
    of: Side | None = None,
    metrics: Mapping[str, float] | None = None,
    ops: Sequence[Op] = (),
) -> Snapshot:
    """A snapshot with a fingerprint of its own."""
    global _made  # noqa: PLW0603
    _made += 1
    made = of or side(ms, ops=ops, metrics=metrics, error=error)
    return Snapshot(
        key=Key(model, framework, devices, hosts, dict(labels or {})),
        about=dict(about or {}),
        fingerprint=fingerprint or f"{_made:08x}{0:024x}",
        recorded_at=recorded_at,
        added_at="",
        level=level,
        note="",
        side=made,
        errors={} if error is None else {"step_time_ms": error},
    )
