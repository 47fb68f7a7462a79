"""Snapshots as JSON, and back: a file from elsewhere is checked before a number of it
is believed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import asdict

from tfadvisor.comparison.baseline.snapshot import Key, Origin, Snapshot
from tfadvisor.comparison.side import Count, KnownFinding, Number, Side, Text, Traits
from tfadvisor.errors import AdvisorError
from tfadvisor.report import Op
from tfadvisor.vocabulary import TIME_CLASSES, Better, Scatter

FORMAT = 1
LARGEST = 1 << 20

_ALIKE = (
    "key",
    "about",
    "fingerprint",
    "recorded_at",
    "added_at",
    "level",
    "note",
    "origin",
)
"""Parts of a snapshot that the file has as they are."""
Numbers: TypeAlias = dict[Text, Number | None]


class SnapshotError(AdvisorError):
    """A snapshot that cannot be used: what is wrong with it, in one sentence."""


class _Times(msgspec.Struct, frozen=True):
    mean: Annotated[float, Meta(gt=0, lt=1e30)]
    median: Annotated[float, Meta(gt=0, lt=1e30)]
    median_error: Number | None = None


class _Metric(msgspec.Struct, frozen=True, array_like=True):
    value: Number
    unit: Text
    better: Better
    scatter: Scatter


class _Op(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    kernel: Text
    kind: Text
    ms_per_step: Number
    count_per_step: Number
    module: Text | None
    opcode: Text | None
    flops: Number | None
    bytes: Number | None
    file: Text | None
    line: Number | None
    shape: Text | None = None


class _Format(msgspec.Struct, frozen=True):
    tfadvisor_snapshot: int


class _File(msgspec.Struct, frozen=True):
    """The file's parts, in their order."""

    tfadvisor_snapshot: int
    key: Key
    about: dict[Text, Text]
    fingerprint: Text
    recorded_at: Text
    added_at: Text
    level: Count
    note: Text
    origin: Origin
    errors: Numbers
    name: Text
    steps: Count
    step_ms: _Times
    class_ms: Numbers
    class_error_ms: Numbers
    metrics: dict[Text, _Metric]
    findings: Annotated[tuple[KnownFinding, ...], Meta(max_length=2000)]
    rest_ms: Numbers
    ops: Annotated[tuple[_Op, ...], Meta(max_length=2000)]


def as_text(snapshot: Snapshot) -> str:
    """One line a part, so that a repository's diff can be read. Numbers with nine
    digits.
    """
    side = snapshot.side
    times = {
        "mean": side.mean_ms,
        "median": side.median_ms,
        "median_error": side.median_error_ms,
    }
    parts = {
        "tfadvisor_snapshot": FORMAT,
        **{name: getattr(snapshot, name) for name in _ALIKE},
        "errors": _rounded(snapshot.errors),
        "name": side.name,
        "steps": side.steps,
        "step_ms": _rounded(times),
        "class_ms": _rounded(side.class_ms),
        "class_error_ms": _rounded(side.class_error_ms),
        "metrics": {name: _metric(side, name) for name in side.metrics},
        "findings": side.findings,
        "rest_ms": _rounded(side.rest_ms),
    }
    lines = [f'"{name}": {_json(value)}' for name, value in parts.items()]
    ops = ",".join(f"\n  {_json(_row(op))}" for op in side.ops)
    lines.append(f'"ops": [{ops}]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def from_text(text: str) -> Snapshot:
    """Raises SnapshotError for what is cut, of another format, or holds something else
    than it should.
    """
    if len(text) > LARGEST:
        raise SnapshotError(
            f"it holds {len(text):,} characters, and a snapshot never more than "
            f"{LARGEST:,}"
        )
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
        _check_format(msgspec.convert(found, _Format))
        return _snapshot(msgspec.convert(found, _File))
    except msgspec.ValidationError as error:
        raise SnapshotError(f"it is no snapshot of tfadvisor: {error}") from error
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"it is not JSON ({error}); it may be cut short") from error


def _check_format(found: _Format) -> None:
    written = found.tfadvisor_snapshot
    if written != FORMAT:
        raise SnapshotError(
            f"it is of format {written}, and this version of tfadvisor reads format "
            f"{FORMAT}"
        )


def _snapshot(read: _File) -> Snapshot:
    return Snapshot(
        **{name: getattr(read, name) for name in _ALIKE},
        errors=_known(read.errors),
        side=_side(read),
    )


def _side(read: _File) -> Side:
    metrics = read.metrics.items()
    class_ms = _known(read.class_ms)
    rest_ms = _known(read.rest_ms)
    total = sum(op.ms_per_step for op in read.ops) + sum(rest_ms.values())
    return Side(
        name=read.name,
        steps=read.steps,
        mean_ms=read.step_ms.mean,
        median_ms=read.step_ms.median,
        median_error_ms=read.step_ms.median_error,
        class_ms={name: class_ms.get(name, 0.0) for name in TIME_CLASSES},
        class_error_ms=_known(read.class_error_ms),
        ops=tuple(_op(op, total) for op in read.ops),
        rest_ms=rest_ms,
        metrics={name: metric.value for name, metric in metrics},
        units={name: metric.unit for name, metric in metrics},
        traits={
            name: Traits(metric.better, metric.scatter) for name, metric in metrics
        },
        findings=read.findings,
    )


def _metric(side: Side, name: str) -> _Metric:
    traits = side.traits[name]
    return _Metric(
        _nine_digits(side.metrics[name]),
        side.units[name],
        traits.better,
        traits.scatter,
    )


def _op(op: _Op, total: float) -> Op:
    """total: of all ops, ms a step."""
    given = asdict(op)
    for name in ("flops", "bytes", "line"):
        if given[name] is not None:
            given[name] = int(given[name])
    share = op.ms_per_step / total if total > 0 else 0.0
    return Op(op=None, share=share, precision=None, **given)


def _row(op: Op) -> _Op:
    time = _nine_digits(op.ms_per_step), _nine_digits(op.count_per_step)
    return _Op(
        op.name,
        op.kind,
        *time,
        op.module,
        op.opcode,
        op.flops,
        op.bytes,
        op.file,
        op.line,
        op.shape,
    )


def _json(value: object) -> str:
    return json.dumps(msgspec.to_builtins(value))


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _rounded(values: Mapping[str, float | None] | Mapping[str, float]) -> Numbers:
    return {
        name: None if value is None else _nine_digits(value)
        for name, value in values.items()
    }


def _nine_digits(value: float) -> float:
    return float(f"{value:.9g}")


def _known(values: Numbers) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}
