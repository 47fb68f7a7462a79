"""A run's numbers, small enough to keep: what a baseline is made of."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from tfadvisor.comparison.side import Side, hottest, side_of
from tfadvisor.errors import TraceError
from tfadvisor.gate.baseline.origin import Origin
from tfadvisor.report.model import Report
from tfadvisor.vocabulary import TimeClass

_MOST_OPS, _MOST_HOSTS, _LONGEST = 80, 8, 200
_CLASSES_HASHED = ("compute", "collective", "transfer", "input", "launch", "compile", "host", "idle")
"""The classes of time as fingerprints have them: in the order of the first version, so that stored ones stay what they are."""
_PRECISIONS = ("fp8", "fp16", "bf16", "tf32", "fp32", "fp64")
DEFAULT_MODEL = "default"


class Key(msgspec.Struct, frozen=True):
    """What must be alike before numbers are compared. devices: words such as `8 gpu NVIDIA H100`; labels: as given."""

    model: str
    framework: str
    devices: str
    hosts: int
    labels: Mapping[str, str]


class Snapshot(msgspec.Struct, frozen=True):
    """A run: who it is (key), what may differ and is reported (about), and its numbers (side).

    fingerprint: of the steps' times and metrics, so that one trace is known again under another name. errors: standard
    errors of metrics, from the run's own steps. level: counts accepted changes; runs of one level share a centre.
    recorded_at: as the trace says, ISO; added_at: when the snapshot came into the store, ISO, "" before.
    """

    key: Key
    about: Mapping[str, str]
    fingerprint: str
    recorded_at: str
    added_at: str
    level: int
    note: str
    side: Side
    errors: Mapping[str, float]
    origin: Origin = Origin()


def snapshot_of(report: Report, model: str = DEFAULT_MODEL, labels: Mapping[str, str] | None = None) -> Snapshot:
    """Raises TraceError when the report holds no step."""
    side = side_of(report)
    if side is None:
        raise TraceError(
            report.run.path,
            "holds no step to compare.",
            "Record at least three steps, with step markers where the framework sets none.",
        )
    ops, rest = hottest(side.ops, side.rest_ms, _MOST_OPS)
    return Snapshot(
        key=Key(model, report.run.framework, _devices(report), len(report.run.hosts), dict(labels or {})),
        about=_about(report),
        fingerprint=_fingerprint(report),
        recorded_at=report.run.captured_at or "",
        added_at="",
        level=0,
        note="",
        side=replace(side, ops=ops, rest_ms=rest),
        errors=_errors(side),
        origin=Origin(machine=", ".join(report.run.hosts[:_MOST_HOSTS])[:_LONGEST]),
    )


def _devices(report: Report) -> str:
    """`2 gpu NVIDIA H100, 1 cpu`."""
    counted = Counter(f"{device.kind} {device.model}".strip() for device in report.run.devices)
    return ", ".join(f"{number} {what}" for what, number in sorted(counted.items())) or "none"


def _about(report: Report) -> dict[str, str]:
    about = {
        "framework version": report.run.framework_version or "",
        "steps found by": report.steps.source,
        "precision": _precision(report),
        "model parameters": _words(report, "model_parameters"),
        "tfadvisor version": report.tool.version,
    }
    return {name: words for name, words in about.items() if words}


def _precision(report: Report) -> str:
    """The precision that takes most kernel time, where kernels tell."""
    metrics = {one: report.metrics.get(f"{one}_kernel_share") for one in _PRECISIONS}
    shares = {one: metric.value for one, metric in metrics.items() if metric is not None and metric.value}
    return max(shares, key=lambda one: shares[one] or 0.0, default="")


def _words(report: Report, metric: str) -> str:
    value = report.metrics[metric].value if metric in report.metrics else None
    return f"{value:.6g}" if value is not None else ""


def _errors(side: Side) -> dict[str, float]:
    """Where the run's own steps tell how well a metric is measured."""
    found = {}
    if side.median_error_ms is not None:
        found["step_time_ms"] = side.median_error_ms
    for one in TimeClass:
        error = side.class_error_ms.get(one.label)
        if error is not None and one.metric in side.metrics:
            found[one.metric] = error / side.mean_ms
    return found


def _fingerprint(report: Report) -> str:
    """The same for two copies of a trace whatever their names, different for two runs: everything is measured in ps."""
    numbers = {
        "at": report.run.captured_at,
        "steps": [[step.start_ms, step.duration_ms] for step in report.steps.each],
        "window": report.run.window_ms,
        "classes": [report.breakdown.get(name) for name in _CLASSES_HASHED],
        "ops": [[op.ms_per_step, op.count_per_step] for op in report.ops],
    }
    return hashlib.sha256(json.dumps(numbers).encode()).hexdigest()[:32]
