"""What XProf says of a trace, as plain tables; tests about it are skipped where xprof
cannot be imported.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Table:
    """One table of an answer. words: its properties, texts all of them. rows: a
    column's id -> what the cell holds.
    """

    def __init__(self, table: dict[str, Any]) -> None:
        """From XProf's JSON."""
        columns = [column["id"] for column in table["cols"]]
        self.words: dict[str, str] = table.get("p") or {}
        self.rows: list[dict[str, Any]] = [
            dict(zip(columns, (cell["v"] for cell in row["c"]), strict=True))
            for row in table.get("rows", [])
        ]

    def column(self, name: str) -> list[Any]:
        """One cell of each row."""
        return [row[name] for row in self.rows]


def _converter() -> tuple[Any, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it imports
            return importlib.import_module("xprof.convert.raw_to_tool_data"), ""
    except ImportError as error:
        return (
            None,
            f"xprof cannot be imported ({error}): pip install '.[differential]'",
        )


_CONVERTER, _WHY_NOT = _converter()

needs_xprof = pytest.mark.skipif(_CONVERTER is None, reason=_WHY_NOT)


def xprof_answer(folder: Path, tool: str) -> list[Table]:
    """The tables of one XProf tool about all traces of a folder, into which XProf
    writes its caches.
    """
    traces = sorted(str(path) for path in folder.glob("*.xplane.pb"))
    with _quiet():
        answer, _ = _CONVERTER.xspace_to_tool_data(traces, tool, {})
    assert answer is not None, f"XProf has no {tool} for {', '.join(traces)}"
    tables = json.loads(answer)
    return [
        Table(one)
        for one in (tables if isinstance(tables, list) else [tables])
        if "cols" in one
    ]


def xprof_steps(folder: Path) -> Table:
    """The steps of XProf's overview page."""
    return next(
        table
        for table in xprof_answer(folder, "overview_page")
        if "input_conclusion" in table.words
    )


def xprof_overview(folder: Path) -> dict[str, str]:
    """The words and shares at the top of XProf's overview page."""
    return next(
        t.words
        for t in xprof_answer(folder, "overview_page")
        if "device_compute_16bit_percent" in t.words
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """XProf's C++ code logs every call to standard error, past Python: a failing test's
    message would drown in it.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
