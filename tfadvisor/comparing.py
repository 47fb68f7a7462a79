"""Two runs side by side: traces, reports and snapshots as the sides of one
comparison.
"""

from __future__ import annotations

import math
from pathlib import Path

from msgspec.structs import asdict, replace

from tfadvisor.analysis import analyze
from tfadvisor.comparison.baseline.snapshot import (
    NEED_CALLS,
    Snapshot,
    may_differ,
    must_be_alike,
    snapshot_of,
)
from tfadvisor.comparison.baseline.snapshot_json import (
    LARGEST,
    SnapshotError,
    from_text,
)
from tfadvisor.comparison.forms import ShownComparison
from tfadvisor.comparison.side import Side
from tfadvisor.comparison.split import compare_sides
from tfadvisor.errors import NothingToCompare, TraceError
from tfadvisor.files import read_small_text
from tfadvisor.report.model import Report
from tfadvisor.trace.remote_path import place_of
from tfadvisor.trace.runs import Readable
from tfadvisor.vocabulary import TimeClass


def compare(
    base: Readable | Report | Snapshot, new: Readable | Report | Snapshot
) -> ShownComparison:
    """Where the change of the step time comes from.

    Each side is what `analyze` takes, a report, or a snapshot of a baseline. Raises
    TraceError when a side cannot be read or holds no step.
    """
    one, other = as_snapshot(base), as_snapshot(new)
    refused, differences = (
        must_be_alike(one.key, other.key),
        (*must_be_alike(one.key, other.key), *may_differ(one, other)),
    )
    same = one.fingerprint == other.fingerprint
    sides = [one.side, other.side]
    if not one.recorded_like(other):
        sides = [_host_as_one(side) for side in sides]
        differences += (
            "input and launch count as host here: without calls of Python functions "
            "they cannot be told apart",
        )
    return ShownComparison(
        **asdict(
            compare_sides(*sides, differences=differences, same=same, refused=refused)
        )
    )


def _host_as_one(side: Side) -> Side:
    """The side with the classes as one that only calls of Python functions tell
    apart.
    """
    time = sum(side.class_ms.get(name, 0.0) for name in NEED_CALLS)
    known = [side.class_error_ms.get(name) for name in NEED_CALLS]
    error = None if None in known else math.hypot(*(one or 0.0 for one in known))
    none = dict.fromkeys(NEED_CALLS, 0.0)
    return replace(
        side,
        class_ms={**side.class_ms, **none, TimeClass.HOST.label: time},
        class_error_ms={**side.class_error_ms, **none, TimeClass.HOST.label: error},
    )


def as_snapshot(side: Readable | Report | Snapshot) -> Snapshot:
    """The numbers of one side, as a baseline keeps them.

    Raises TraceError when a file cannot be read, NothingToCompare (a TraceError) for a
    report without a counted step.
    """
    if isinstance(side, Snapshot):
        return side
    if not isinstance(side, Report):
        if (
            isinstance(side, str | Path)
            and (path := place_of(side)).suffix == ".json"
            and path.is_file()
        ):
            return _stored(path)
        side = analyze(side)
    try:
        return snapshot_of(side)
    except TraceError as error:
        raise NothingToCompare(error.place, error.cause, error.remedy) from error


def _stored(path: Path) -> Snapshot:
    try:
        return from_text(read_small_text(path, LARGEST))
    except (OSError, UnicodeDecodeError, SnapshotError) as error:
        raise TraceError(
            str(path),
            f"is not a snapshot that can be read: {error}.",
            "Give a trace, or a snapshot.",
        ) from error
