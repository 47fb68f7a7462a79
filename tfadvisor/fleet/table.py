"""The table as a Parquet file: read, merged, and written whole."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
from msgspec.structs import replace

from tfadvisor.errors import TraceError, UsageError, written
from tfadvisor.files import new_file, open_regular
from tfadvisor.fleet.work import SCHEMA_VERSION, Row

_KEY = b"tfadvisor_fleet_schema"


def read_table(path: Path) -> tuple[Row, ...]:
    """The rows; columns that a user has added are passed over. Raises TraceError for a
    file that is none of ours, UsageError without pyarrow.
    """
    pa = arrow()
    import pyarrow.parquet as pq

    try:
        with open_regular(path) as file:
            found = pq.read_table(file)
        _check_columns(path, found)
        known = [name for name in Row.__struct_fields__ if name in found.column_names]
        data = found.select(known).to_pylist()
        rows = tuple(msgspec.convert(entry, Row) for entry in data)
    except (pa.ArrowException, msgspec.ValidationError) as error:
        said = " ".join(str(error).split())
        raise TraceError(
            str(path),
            f"is no table of runs that can be read: {said}.",
            "Write it anew with `tfadvisor fleet`.",
        ) from error
    except OSError as error:
        raise TraceError(
            str(path), f"cannot be read: {error.strerror or error}.", "Check the path."
        ) from error
    return rows


def _check_columns(path: Path, found: Any) -> None:
    """Raises TraceError for a table that is none of ours, or of another version."""
    if not {"place", "stamp", "rules"} <= set(found.column_names):
        raise TraceError(
            str(path),
            "is no table of runs.",
            "Give a file that `tfadvisor fleet SOURCE… -o` wrote.",
        )

    metadata = found.schema.metadata or {}
    version = metadata.get(_KEY, SCHEMA_VERSION.encode()).decode()
    if version != SCHEMA_VERSION:
        raise TraceError(
            str(path),
            f"has version {version} of the columns.",
            "Read it with the tfadvisor that wrote it.",
        )


def write_table(
    path: Path,
    rows: Mapping[str, Row],
) -> None:
    """Whole or not at all, by place, so that the same runs make the same file. Raises
    UsageError.
    """
    pa = arrow()
    import pyarrow.parquet as pq

    ordered = [rows[place] for place in sorted(rows)]
    columns = {}
    for name in Row.__struct_fields__:
        columns[name] = [getattr(row, name) for row in ordered]
    table = pa.table(columns, schema=schema())
    with written(f"--output {path}"), new_file(path) as file:
        pq.write_table(table, file, compression="zstd")


def schema() -> Any:
    """The columns with their types."""
    pa = arrow()
    kinds = {
        str: pa.string(),
        float: pa.float64(),
        int: pa.int64(),
        bool: pa.bool_(),
        datetime: pa.timestamp("us", tz="UTC"),
    }
    fields = []
    for name, hint in get_type_hints(Row).items():
        options = get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        kind = next(option for option in options if option is not type(None))
        fields.append(pa.field(name, kinds[kind], nullable=type(None) in options))
    return pa.schema(fields, metadata={_KEY: SCHEMA_VERSION.encode()})


def merged(
    known: Sequence[Row],
    found: set[str],
    sources: Sequence[str],
) -> dict[str, Row]:
    """The rows by place, with those marked that lie below a source and whose run was
    not found there any more.
    """
    rows = {}
    below = tuple(f"{source.rstrip('/')}/" for source in sources)
    for row in known:
        looked_for = row.place in sources or row.place.startswith(below)
        there = row.place in found or (row.there and not looked_for)
        rows[row.place] = row if row.there == there else replace(row, there=there)
    return rows


def arrow() -> Any:
    """pyarrow. Raises UsageError with the line that installs it."""
    try:
        import pyarrow
    except ImportError as error:
        raise UsageError(
            f"fleet needs pyarrow, which cannot be loaded ({error}): pip install "
            "'tfadvisor[fleet]'"
        ) from error
    return pyarrow
