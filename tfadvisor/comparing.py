"""Two runs side by side: traces, reports and snapshots as the sides of one
comparison.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from tfadvisor.analysis import Analysis, analyze
from tfadvisor.comparison import Comparison, ShownComparison, Side, compare_sides
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
from tfadvisor.errors import NothingToCompare, TraceError
from tfadvisor.files import read_small_text
from tfadvisor.report import Report
from tfadvisor.trace import Readable
from tfadvisor.trace.remote_path import place_of
from tfadvisor.vocabulary import TimeClass

Comparable: TypeAlias = Readable | Report | Analysis | Snapshot
"""One side: what `analyze` takes, what it gives, a report, a snapshot of a baseline."""


def compare(base: Comparable, new: Comparable) -> ShownComparison:
    """Where the change of the step time comes from.

    Each side is what `analyze` takes or gives, a report, or a snapshot of a baseline.
    Raises TraceError when a side cannot be read or holds no step.
    """
    return ShownComparison(comparison_of(base, new))


def comparison_of(base: Comparable, new: Comparable) -> Comparison:
    """The record of `compare` alone. Raises as it does."""
    before = as_snapshot(base)
    after = as_snapshot(new)
    refused = tuple(must_be_alike(before.key, after.key))
    differences = (*refused, *may_differ(before, after))
    sides = [before.side, after.side]

    if not before.recorded_like(after):
        sides = [_host_as_one(side) for side in sides]
        differences += (
            "input and launch count as host here: without calls of Python functions "
            "they cannot be told apart",
        )

    return compare_sides(
        *sides,
        differences=differences,
        same=before.fingerprint == after.fingerprint,
        refused=refused,
    )


def _host_as_one(side: Side) -> Side:
    """The side with the classes as one that only calls of Python functions tell
    apart.
    """
    time = sum(side.class_ms.get(name, 0.0) for name in NEED_CALLS)
    known = [side.class_error_ms.get(name) for name in NEED_CALLS]
    error = (
        None
        if None in known
        else math.hypot(*(class_error or 0.0 for class_error in known))
    )
    none = dict.fromkeys(NEED_CALLS, 0.0)
    return replace(
        side,
        class_ms={**side.class_ms, **none, TimeClass.HOST.label: time},
        class_error_ms={**side.class_error_ms, **none, TimeClass.HOST.label: error},
    )


def as_snapshot(side: Comparable) -> Snapshot:
    """The numbers of one side, as a baseline keeps them.

    Raises TraceError when a file cannot be read, NothingToCompare (a TraceError) for a
    report without a counted step.
    """
    if isinstance(side, Snapshot):
        return side
    if isinstance(side, str | Path):
        path = place_of(side)
        if path.suffix == ".json" and path.is_file():
            return _stored(path)

    report = side if isinstance(side, Report) else _analysis_of(side).report
    try:
        return snapshot_of(report)
    except TraceError as error:
        raise NothingToCompare(error.place, error.cause, error.remedy) from error


def _analysis_of(side: Readable | Analysis) -> Analysis:
    return side if isinstance(side, Analysis) else analyze(side)


def _stored(path: Path) -> Snapshot:
    try:
        return from_text(read_small_text(path, LARGEST))
    except (OSError, UnicodeDecodeError, SnapshotError) as error:
        raise TraceError(
            str(path),
            f"is not a snapshot that can be read: {error}.",
            "Give a trace, or a snapshot.",
        ) from error
