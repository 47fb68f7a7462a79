"""The tables of a Parquet export, as `parquet_tables.txt` names them: what each holds
and means.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

SCHEMA_VERSION = "1"
CATEGORY = "dictionary of string"


class Column(msgspec.Struct, frozen=True):
    """One column. kind: int64, int32, double, bool, string or CATEGORY."""

    name: str
    kind: str
    about: str


class TableOf(msgspec.Struct, frozen=True):
    """One table, in a file of its name."""

    name: str
    about: str
    columns: tuple[Column, ...]


def _table(text: str) -> TableOf:
    head, *rows = text.splitlines()
    name, about = head.split(": ", 1)
    return TableOf(
        name, about, tuple(Column(*map(str.strip, row.split("|"))) for row in rows)
    )


_FILE = Path(__file__).with_name("parquet_tables.txt")
TABLES = tuple(map(_table, _FILE.read_text(encoding="utf-8").split("\n\n")[1:]))
