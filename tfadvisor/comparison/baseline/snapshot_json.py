"""Snapshots as JSON, and back: a file from elsewhere is checked before a number of it is believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec.structs import asdict

from tfadvisor.comparison.baseline.snapshot import Key, Origin, Snapshot
from tfadvisor.comparison.side import Found, Side, Traits
from tfadvisor.errors import AdvisorError
from tfadvisor.report.model import Op
from tfadvisor.vocabulary import TIME_CLASSES, Better, Scatter

FORMAT = 1
LARGEST = 1 << 20
_OP_COLUMNS = 10
_FINDING_COLUMNS = 7


def as_text(snapshot: Snapshot) -> str:
    """One line a part, so that a repository's diff can be read. Numbers with nine digits."""
    side = snapshot.side
    parts = {
        "tfadvisor_snapshot": FORMAT,
        "key": asdict(snapshot.key),
        "about": dict(snapshot.about),
        "fingerprint": snapshot.fingerprint,
        "recorded_at": snapshot.recorded_at,
        "added_at": snapshot.added_at,
        "level": snapshot.level,
        "note": snapshot.note,
        "origin": asdict(snapshot.origin),
        "errors": _numbers(snapshot.errors),
        "name": side.name,
        "steps": side.steps,
        "step_ms": _numbers({"mean": side.mean_ms, "median": side.median_ms, "median_error": side.median_error_ms}),
        "class_ms": _numbers(side.class_ms),
        "class_error_ms": _numbers(side.class_error_ms),
        "metrics": {name: _metric_row(side, name) for name in side.metrics},
        "findings": [
            [one.rule_id, one.category, one.title, one.place, one.severity, one.since, one.claims, one.takes]
            for one in side.findings
        ],
        "rest_ms": _numbers(side.rest_ms),
    }
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in parts.items()]
    rows = [json.dumps(_row(op)) for op in side.ops]
    lines.append('"ops": [' + ",".join("\n  " + row for row in rows) + "]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def from_text(text: str) -> Snapshot:
    """Raises SnapshotError for what is cut, of another format, or holds something else than it should."""
    if len(text) > LARGEST:
        raise SnapshotError(f"it holds {len(text):,} characters, and a snapshot never more than {LARGEST:,}")
    try:
        found = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"it is not JSON ({error}); it may be cut short") from error
    if not isinstance(found, dict) or "tfadvisor_snapshot" not in found:
        raise SnapshotError("it is JSON, but no snapshot of tfadvisor")
    if found["tfadvisor_snapshot"] != FORMAT:
        raise SnapshotError(
            f"it is of format {found['tfadvisor_snapshot']!r:.40}, and this version of tfadvisor reads format {FORMAT}"
        )
    read = Reader(found)
    key = Reader(read.value("key", dict))
    times = read.numbers("step_ms")
    if min(times.get("mean", 0), times.get("median", 0)) <= 0:
        raise SnapshotError("`step_ms` needs a mean and a median above 0")
    metrics = read.value("metrics", dict)
    return Snapshot(
        key=Key(key.text("model"), key.text("framework"), key.text("devices"), key.count("hosts"), key.texts("labels")),
        about=read.texts("about"),
        fingerprint=read.text("fingerprint"),
        recorded_at=read.text("recorded_at"),
        added_at=read.text("added_at"),
        level=read.count("level"),
        note=read.text("note"),
        errors=read.numbers("errors"),
        origin=_origin(found),
        side=Side(
            name=read.text("name"),
            steps=read.count("steps"),
            mean_ms=times["mean"],
            median_ms=times["median"],
            median_error_ms=times.get("median_error"),
            class_ms={name: read.numbers("class_ms").get(name, 0.0) for name in TIME_CLASSES},
            class_error_ms=read.numbers("class_error_ms"),
            ops=_ops(read.rows("ops"), read.numbers("rest_ms")),
            rest_ms=read.numbers("rest_ms"),
            metrics={name: number(row, "metrics", 0) for name, row in metrics.items()},
            units={name: word(row, "metrics", 1) for name, row in metrics.items()},
            traits={name: _traits(row) for name, row in metrics.items() if _has_traits(row)},
            findings=tuple(_found(row) for row in read.rows("findings")),
        ),
    )


def _metric_row(side: Side, name: str) -> list[Any]:
    """value, unit, then which way is better and how it scatters, where known."""
    row = [_rounded(side.metrics[name]), side.units[name]]
    traits = side.traits.get(name)
    return row if traits is None else [*row, traits.better.value, traits.scatter.value]


def _origin(found: Mapping[str, Any]) -> Origin:
    """Versions before this was kept wrote none."""
    if "origin" not in found:
        return Origin()
    read = Reader(Reader(found).value("origin", dict))
    return Origin(read.text("commit"), read.text("branch"), read.text("machine"))


def _found(row: list[Any]) -> Found:
    """Rule, category, title, place, then severity, the day it came, classes and share, where known."""
    words = [word(row, "findings", at) for at in range(min(max(len(row), 4), _FINDING_COLUMNS))]
    known = len(row) > _FINDING_COLUMNS and row[_FINDING_COLUMNS] is not None
    rule, category, title, place, severity, since, claims = (*words, *[""] * (_FINDING_COLUMNS - len(words)))
    takes = number(row, "findings", _FINDING_COLUMNS) if known else None
    return Found(rule, category, title, place, severity, since, claims, takes)


def _has_traits(row: list[Any]) -> bool:
    """Versions before these were kept wrote value and unit alone."""
    return len(row) > 2


def _traits(row: list[Any]) -> Traits:
    try:
        return Traits(Better(word(row, "metrics", 2)), Scatter(word(row, "metrics", 3)))
    except ValueError as error:
        raise SnapshotError(f"`metrics` holds {error}") from error


def _ops(rows: list[list[Any]], rest_ms: Mapping[str, float]) -> tuple[Op, ...]:
    """Each has name, kind, ms, count, then module, opcode, flops, bytes, file and line where known."""
    if any(len(row) != _OP_COLUMNS for row in rows):
        raise SnapshotError("`ops` has a row of another length")
    total = sum(number(row, "ops", 2) for row in rows) + sum(rest_ms.values())
    return tuple(_op(row, number(row, "ops", 2) / total if total > 0 else 0.0) for row in rows)


def _op(row: list[Any], share: float) -> Op:
    return Op(
        op=None,
        kernel=word(row, "ops", 0),
        kind=word(row, "ops", 1),
        share=share,
        ms_per_step=number(row, "ops", 2),
        count_per_step=number(row, "ops", 3),
        precision=None,
        module=_known_word(row, 4),
        opcode=_known_word(row, 5),
        flops=_known_whole(row, 6),
        bytes=_known_whole(row, 7),
        file=_known_word(row, 8),
        line=_known_whole(row, 9),
    )


def _known_word(row: list[Any], at: int) -> str | None:
    return None if row[at] is None else word(row, "ops", at)


def _known_whole(row: list[Any], at: int) -> int | None:
    return None if row[at] is None else int(number(row, "ops", at))


def _row(op: Op) -> list[Any]:
    time = _rounded(op.ms_per_step), _rounded(op.count_per_step)
    return [op.name, op.kind, *time, op.module, op.opcode, op.flops, op.bytes, op.file, op.line]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _numbers(values: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name: None if value is None else _rounded(value) for name, value in values.items()}


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")


# Fields of a JSON file from elsewhere, by the type that they must have.

_MOST_ROWS = 2000
_LONGEST = 4000
_HUGE = 1e30
T = TypeVar("T")


class SnapshotError(AdvisorError):
    """A snapshot that cannot be used: what is wrong with it, in one sentence."""


class Reader:
    """Fields of a JSON object. Every method raises SnapshotError for one that is missing or of another type."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        """found: the object, as JSON was read."""
        self._found = found

    def value(self, name: str, kind: type[T]) -> T:
        """A field of a type; true and false are no numbers."""
        if name not in self._found:
            raise SnapshotError(f"`{name}` is missing")
        value = self._found[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise SnapshotError(f"`{name}` is no {kind.__name__}")
        return value

    def text(self, name: str) -> str:
        """A text of at most 4,000 characters."""
        return _short(self.value(name, str), name)

    def count(self, name: str) -> int:
        """A whole number from 0 on that a float holds."""
        found = self.value(name, int)
        if not 0 <= found < 1 << 53:
            raise SnapshotError(f"`{name}` is not a count")
        return found

    def texts(self, name: str) -> dict[str, str]:
        """Texts by name."""
        found = self.value(name, dict)
        if not all(isinstance(value, str) for value in found.values()):
            raise SnapshotError(f"`{name}` holds something that is not text")
        return {_short(key, name): _short(value, name) for key, value in found.items()}

    def numbers(self, name: str) -> dict[str, float]:
        """Numbers by name, without those that are null."""
        found = self.value(name, dict)
        return {key: _finite(value, name) for key, value in found.items() if value is not None}

    def rows(self, name: str) -> list[list[Any]]:
        """At most 2,000 lists."""
        rows = self.value(name, list)
        if len(rows) > _MOST_ROWS or not all(isinstance(row, list) for row in rows):
            raise SnapshotError(f"`{name}` is not a list of at most {_MOST_ROWS:,} rows")
        return rows


def number(row: Any, name: str, at: int) -> float:
    """The finite number at a place of a row of `name`. Raises SnapshotError."""
    if not isinstance(row, list) or len(row) <= at:
        raise SnapshotError(f"`{name}` has a row that is too short")
    return _finite(row[at], name)


def word(row: Any, name: str, at: int) -> str:
    """The text at a place of a row of `name`. Raises SnapshotError."""
    if not isinstance(row, list) or len(row) <= at or not isinstance(row[at], str):
        raise SnapshotError(f"`{name}` has a row without the text that belongs there")
    return _short(row[at], name)


def _finite(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_HUGE < value < _HUGE:
        raise SnapshotError(f"`{name}` holds something that is not a number")
    return float(value)


def _short(text: str, name: str) -> str:
    if len(text) > _LONGEST:
        raise SnapshotError(f"`{name}` holds a text of {len(text):,} characters")
    return text
