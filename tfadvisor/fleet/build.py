"""The table brought up to date: what is new or changed is read, what is known stays, what is gone is marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tfadvisor.fleet.find import Found
from tfadvisor.fleet.row import Row
from tfadvisor.fleet.table import merged, write_table
from tfadvisor.fleet.work import Task, lost_row, row_bytes, row_from
from tfadvisor.timeline.run.engine import Engine

_SAVED_EVERY = 500
"""Rows, so that a first pass over many runs that is interrupted has not been for nothing."""
_TRIED_AGAIN = ("unreachable", "killed")


class Outcome(msgspec.Struct, frozen=True):
    """What a pass did."""

    rows: int
    """In the table now."""
    read: int
    """Runs that were new or changed."""
    failed: tuple[Row, ...]
    """Of those, the ones without a report."""
    gone: int
    """Rows whose run is not there any more."""


def bring_up_to_date(
    known: Sequence[Row],
    found: Found,
    engine: Engine,
    output: Path,
    done: Callable[[int, int], None],
) -> Outcome:
    """Reads what the known rows do not tell, and writes the table. done: called with how many of how many runs are read.

    Raises UsageError for a table that cannot be written, ClusterError; what was read until then is in the table.
    """
    rows = merged(known, {task.place for task in found.tasks}, found.sources)
    new = [task for task in found.tasks if not _is_told(rows.get(task.place), task)]
    failed: list[Row] = []
    unsaved = 0 if known and list(rows.values()) == list(known) else 1
    try:
        for number, answer in enumerate(engine.each(row_bytes, [msgspec.msgpack.encode(one) for one in new]), 1):
            row = lost_row(new[answer.task]) if answer.value is None else row_from(answer.value)
            rows[row.place] = row
            if row.error is not None:
                failed.append(row)
            unsaved += 1
            done(number, len(new))
            if unsaved >= _SAVED_EVERY:
                write_table(output, rows)
                unsaved = 0
    finally:
        if unsaved:
            write_table(output, rows)
    failed.sort(key=lambda row: row.place)
    return Outcome(len(rows), len(new), tuple(failed), sum(not row.there for row in rows.values()))


def _is_told(row: Row | None, task: Task) -> bool:
    """Whether a row says all that reading the run again would."""
    if row is None or row.error_kind in _TRIED_AGAIN:
        return False
    same_labels = all(getattr(row, name) == task.labels.get(name) for name in ("team", "model", "job"))
    return same_labels and (row.stamp, row.rules) == (task.stamp, task.rules)
