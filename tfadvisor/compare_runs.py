"""`tfadvisor.compare`: two runs in, the split of their difference out."""

from __future__ import annotations

from pathlib import Path

from tfadvisor.advise import analyze
from tfadvisor.comparison.compare_sides import compare_sides
from tfadvisor.comparison.result import Comparison
from tfadvisor.errors import TraceError
from tfadvisor.gate.comparability import may_differ, must_be_alike
from tfadvisor.gate.snapshot import Snapshot, snapshot_of
from tfadvisor.gate.snapshot_json import SnapshotError, from_text
from tfadvisor.report_model import Report


class NothingToCompare(TraceError):
    """A side holds no step: the trace can be read, but there is too little in it."""

    exit_code = 4


def compare(base: str | Path | Report | Snapshot, new: str | Path | Report | Snapshot) -> Comparison:
    """Where the change of the step time comes from.

    Each side is a logdir (its newest run), a run folder, a trace file, a report, or a snapshot of a baseline. Raises
    TraceError when a side cannot be read or holds no step.
    """
    one, other = as_snapshot(base), as_snapshot(new)
    differences = (*must_be_alike(one.key, other.key), *may_differ(one, other))
    same = one.fingerprint == other.fingerprint
    return compare_sides(one.side, other.side, differences=differences, same=same)


def as_snapshot(side: str | Path | Report | Snapshot) -> Snapshot:
    """The numbers of one side."""
    if isinstance(side, Snapshot):
        return side
    if not isinstance(side, Report):
        path = Path(side)
        if path.suffix == ".json" and path.is_file():
            return _stored(path)
        side = analyze(path)
    try:
        return snapshot_of(side)
    except TraceError as error:
        raise NothingToCompare(error.place, error.cause, error.remedy) from error


def _stored(path: Path) -> Snapshot:
    try:
        return from_text(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SnapshotError) as error:
        raise TraceError(
            str(path), f"is no snapshot that can be read: {error}.", "Give a trace, or a snapshot."
        ) from error
