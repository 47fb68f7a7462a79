"""A run as Parquet files, one a table."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tfadvisor.printable import in_utf8
from tfadvisor.report.model import Report
from tfadvisor.serve.export.parquet import CATEGORY, SCHEMA_VERSION, TABLES, TableOf
from tfadvisor.timeline.host_timeline import HostTimeline
from tfadvisor.trace.columns import NUM_OCCURRENCES, HostTrace, Kind, StatColumn, Value
from tfadvisor.vocabulary import TIME_CLASSES

_ROWS_AT_ONCE = 1 << 20
Given: TypeAlias = Any  # an array, a list, one value for all rows, or a pyarrow array


class ParquetSink:
    """Writes a run's tables into a folder as its hosts come."""

    def __init__(self, folder: Path) -> None:
        """Every table has its file at once, so that none is missing where nothing
        belongs into it.
        """
        self._schemas = {table.name: schema_of(table) for table in TABLES}
        self._writers: dict[str, Any] = {}
        try:
            for name, schema in self._schemas.items():
                self._writers[name] = pq.ParquetWriter(
                    folder / f"{name}.parquet", schema, compression="zstd"
                )
        except OSError:
            with suppress(OSError):
                self.close()
            raise
        self._hosts = 0

    def add_host(self, trace: HostTrace, timeline: HostTimeline) -> None:
        """What was decoded, and the steps that were found in it."""
        self._put(
            "hosts",
            name=[timeline.host],
            file=[Path(trace.path).name],
            size_bytes=[trace.size_bytes],
            session_start_ns=[timeline.capture.session_start_ns],
            origin_ns=[trace.origin_ns],
        )
        planes = trace.planes
        self._put(
            "planes",
            plane=range(len(planes)),
            id=[one.id for one in planes],
            name=[one.name for one in planes],
        )
        self._put_values(
            "plane_stats",
            "plane",
            (
                (row, name, value)
                for row, one in enumerate(planes)
                for name, value in one.stats.items()
            ),
        )
        self._put_lines(trace)
        self._put_names(trace)
        self._put_events(trace, timeline)
        for name, column in trace.stats.items():
            self._put_stat(name, column)
        self._put_steps(timeline)
        self._hosts += 1

    def finish(self, report: Report) -> None:
        """What the report says of the ops, and the end of all files."""
        for table in (one for one in TABLES if one.name == "ops" and report.ops):
            given = {
                one.name: [_in_cell(getattr(op, one.name)) for op in report.ops]
                for one in table.columns
            }
            self._put(table.name, **given)
        self.close()

    def close(self) -> None:
        """Ends all files. Raises the last OSError of those that cannot be written."""
        failed = None
        for writer in self._writers.values():
            try:
                writer.close()
            except OSError as error:
                # else it tries again when it is collected, and prints a traceback
                writer.is_open = False
                failed = error
        if failed is not None:
            raise failed

    def _put_lines(self, trace: HostTrace) -> None:
        lines = trace.lines
        self._put(
            "lines",
            line=range(len(lines)),
            plane=lines.plane,
            id=lines.id,
            name=lines.name,
            display_name=lines.display_name,
            timestamp_ns=lines.timestamp_ns,
            duration_ps=lines.duration_ps,
            events=np.diff(lines.first),
        )

    def _put_names(self, trace: HostTrace) -> None:
        names = trace.names
        self._put(
            "names",
            row=range(len(names)),
            plane=names.plane,
            id=names.id,
            name=names.name,
            display_name=names.display_name,
        )
        found = (
            (row, name, value)
            for row in range(len(names))
            for name, value in trace.details.metadata_stats(row).items()
        )
        self._put_values("name_stats", "row", found)

    def _put_events(self, trace: HostTrace, timeline: HostTimeline) -> None:
        events, steps = trace.events, timeline.steps
        line = trace.line_of_event()
        placed = np.ones(len(events), np.bool_)
        placed[trace.stat(NUM_OCCURRENCES).event] = False
        names = pa.array(trace.names.name, pa.string())
        for at in range(0, len(events), _ROWS_AT_ONCE):
            part = slice(at, at + _ROWS_AT_ONCE)
            start = events.start_ps[part]
            step = np.searchsorted(steps.starts, start, side="right") - 1
            inside = (step >= 0) & placed[part]
            inside[inside] = start[inside] < steps.ends[step[inside]]
            self._put(
                "events",
                event=np.arange(at, at + len(start)),
                plane=trace.lines.plane[line[part]],
                line=line[part],
                row=events.row[part],
                name=pa.DictionaryArray.from_arrays(
                    pa.array(events.row[part], pa.int32()), names
                ),
                start_ps=start,
                duration_ps=events.duration_ps[part],
                placed=placed[part],
                step=pa.array(step, pa.int32(), mask=~inside),
            )

    def _put_stat(self, name: str, column: StatColumn) -> None:
        texts = pa.array(column.texts, pa.string())
        for at in range(0, len(column), _ROWS_AT_ONCE):
            part = slice(at, at + _ROWS_AT_ONCE)
            kind, value = (
                column.kind[part],
                column.value[part].astype(np.int64),
            )  # columns are as narrow as their values
            whole = (kind == Kind.INT) | (kind == Kind.UINT)
            double = kind == Kind.DOUBLE
            number = np.where(double, value.view(np.float64), value.astype(np.float64))
            worded = (kind == Kind.TEXT) | (kind == Kind.BYTES)
            self._put(
                "event_stats",
                event=column.event[part],
                stat=name,
                integer=pa.array(value, pa.int64(), mask=~whole),
                number=pa.array(number, pa.float64(), mask=~(whole | double)),
                text=pa.DictionaryArray.from_arrays(
                    pa.array(value.astype(np.int32), pa.int32(), mask=~worded), texts
                ),
            )

    def _put_values(
        self, table: str, key: str, found: Iterable[tuple[int, str, Value]]
    ) -> None:
        rows = [one for one in found if not isinstance(one[2], bytes)]
        if not rows:
            return
        whole = [
            value if isinstance(value, int) and -(1 << 63) <= value < 1 << 63 else None
            for _, _, value in rows
        ]
        number = [
            float(value) if isinstance(value, int | float) else None
            for _, _, value in rows
        ]
        text = [value if isinstance(value, str) else None for _, _, value in rows]
        columns = {key: [place for place, _, _ in rows]}
        self._put(
            table,
            **columns,
            stat=[name for _, name, _ in rows],
            integer=whole,
            number=number,
            text=text,
        )

    def _put_steps(self, timeline: HostTimeline) -> None:
        steps = timeline.steps
        if not len(steps):
            return
        self._put(
            "steps",
            step=range(len(steps)),
            name=steps.names,
            start_ps=steps.starts,
            end_ps=steps.ends,
            span_end_ps=steps.span_ends,
            kind=[kind.value for kind in steps.kinds],
        )
        devices = [device.name for device in timeline.active_devices()] or [""]
        classes = list(TIME_CLASSES)
        count = len(devices) * len(steps)
        self._put(
            "step_classes",
            device=np.repeat(np.array(devices, object), len(steps) * len(classes)),
            step=np.tile(np.repeat(np.arange(len(steps)), len(classes)), len(devices)),
            **{"class": np.tile(np.array(classes, object), count)},
            time_ps=timeline.breakdown.reshape(-1),
            takes_part=np.repeat(timeline.takes_part.reshape(-1), len(classes)),
        )

    def _put(self, table: str, **columns: Given) -> None:
        schema = self._schemas[table]
        rows = next(len(one) for one in columns.values() if not isinstance(one, str))
        columns["host"] = np.full(rows, self._hosts, np.int32)
        arrays = [_array(columns[field.name], field.type, rows) for field in schema]
        self._writers[table].write_table(pa.Table.from_arrays(arrays, schema=schema))


def _in_cell(value: Given) -> Given:
    return ",".join(map(str, value)) if isinstance(value, tuple) else value


def schema_of(table: TableOf) -> pa.Schema:
    """With what each column means as its metadata."""
    fields = [
        pa.field(one.name, _type_of(one.kind), metadata={"about": one.about})
        for one in table.columns
    ]
    return pa.schema(
        fields,
        metadata={"tfadvisor_export_schema": SCHEMA_VERSION, "about": table.about},
    )


def _type_of(kind: str) -> pa.DataType:
    if kind == CATEGORY:
        return pa.dictionary(pa.int32(), pa.string())
    return pa.type_for_alias(kind)


def _array(values: Given, kind: pa.DataType, rows: int) -> pa.Array:
    """Names of files and hosts may be no UTF-8, which Parquet's texts must be."""
    try:
        return _made(values, kind, rows)
    except UnicodeEncodeError:
        return _made([one and in_utf8(one) for one in values], kind, rows)


def _made(values: Given, kind: pa.DataType, rows: int) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if isinstance(values, str):
        return pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(rows, np.int32)), pa.array([values])
        )
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string()).dictionary_encode()
    return pa.array(values, kind)
