"""Page data as the JSON that the page reads: tables as columns, numbers short, nothing
that could end its script tag.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_type_hints

import msgspec
import numpy as np

from tfadvisor.printable import short_kernel
from tfadvisor.report.about import about_lines
from tfadvisor.report.forms.page_data import (
    CallRow,
    CollectiveRow,
    ComparedRuns,
    DrawnStep,
    PageData,
    PartRow,
)
from tfadvisor.report.model import Op, StepInfo
from tfadvisor.report.wording import bar_note, plan_end, plan_lines
from tfadvisor.vocabulary import TIME_CLASSES

FORMAT = 3
"""Of the data; the page that is built with it reads no other."""
_DIGITS = 6
_LONGEST_NAME = 200
"""Letters of a short name; the page cuts it where its table has less room."""
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def encode(
    pages: Sequence[PageData],
    trace_viewer: str | None = None,
    comparisons: Sequence[ComparedRuns] = (),
) -> str:
    """JSON that may stand inside `<script type="application/json">`.

    trace_viewer: address of XProf's trace viewer, in which {run} and {host} are filled
    in; the page links to it.
    """
    data = {
        "format": FORMAT,
        "trace_viewer": trace_viewer,
        "runs": [_page(page) for page in pages],
        "comparisons": [_short(_fields(one)) for one in comparisons],
    }
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def encode_comparison(comparison: ComparedRuns) -> str:
    """One of the comparisons of `encode`, by itself, for a server that answers
    with it.
    """
    return json.dumps(
        _short(_fields(comparison)), separators=(",", ":"), allow_nan=False
    )


_TABLES: Mapping[str, type[msgspec.Struct]] = {
    "ops": Op,
    "collectives": CollectiveRow,
    "calls": CallRow,
    "parts": PartRow,
}
"""Fields that are sent as columns."""


def _page(page: PageData) -> dict[str, Any]:
    report = page.report.to_dict()
    steps = page.report.steps.each
    report["steps"]["each"] = _columns(StepInfo, steps)
    del report["steps"]["each"]["breakdown"], report["ops"]
    for told_in_words in ("machines", "plan"):
        report.pop(told_in_words, None)
    fields = {
        name: getattr(page, name)
        for name in page.__struct_fields__
        if name not in _TABLES
    }
    return {
        **{
            name: _short(_plain(value))
            for name, value in fields.items()
            if name not in ("report", "drawn", "more")
        },
        **{name: _columns(kind, getattr(page, name)) for name, kind in _TABLES.items()},
        "report": _short(report),
        "step_shares": {
            one: [round(each.breakdown[one] * 1e5) for each in steps]
            for one in TIME_CLASSES
            if steps
        },
        "drawn": [_drawn(one) for one in page.drawn],
        "more": _packed([_drawn(one) for one in page.more]),
        "about": about_lines(page.report),
        "plan": [_fields(one) for one in plan_lines(page.report)],
        "plan_end": plan_end(page.report),
        "bar_note": bar_note(page.report),
        "short_names": {
            name: short
            for name in {
                name for one in page.ops for name in (one.op, one.kernel) if name
            }
            if (short := short_kernel(name, _LONGEST_NAME)) != name
        },
    }


def encode_step(step: DrawnStep) -> str:
    """One drawn step by itself, for a server that answers with it."""
    return json.dumps(_drawn(step), separators=(",", ":"), allow_nan=False)


def _packed(content: Any) -> str:
    """JSON, gzip, base64; "" for nothing. The page unpacks it when it is asked for."""
    if not content:
        return ""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(
        gzip.compress(text.encode("utf-8"), compresslevel=6, mtime=0)
    ).decode("ascii")


def _drawn(step: DrawnStep) -> dict[str, Any]:
    """Rows that stand for themselves are left out of `events` and `busy`, which list
    the blocks alone.
    """
    blocks = np.flatnonzero(step.events > 1)
    plain = {
        name: getattr(step, name).tolist()
        if isinstance(getattr(step, name), np.ndarray)
        else _plain(getattr(step, name))
        for name in step.__struct_fields__
        if name not in ("events", "busy")
    }
    return {
        **plain,
        "block": blocks.tolist(),
        "block_events": step.events[blocks].tolist(),
        "block_busy": step.busy[blocks].tolist(),
    }


def _columns(kind: type[msgspec.Struct], rows: Sequence[Any]) -> dict[str, Any]:
    """One column a field of the rows' record; those of texts, which repeat, become
    {"texts", "code"}.
    """
    types = _types(kind)
    return {
        name: _column([_short(getattr(row, name)) for row in rows], types[name])
        for name in kind.__struct_fields__
    }


_types = cache(get_type_hints)


def _column(values: list[Any], kind: object) -> Any:
    if kind not in (str, str | None):
        return values
    place: dict[Any, int] = {}
    code = [place.setdefault(value, len(place)) for value in values]
    return {"texts": list(place), "code": code}


def _fields(one: Any) -> dict[str, Any]:
    return {name: _plain(getattr(one, name)) for name in one.__struct_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _fields(value)
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value


def _short(value: Any) -> Any:
    """Six significant digits are more than any screen shows."""
    if isinstance(value, float):
        short = float(f"{value:.{_DIGITS}g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    return [_short(one) for one in value] if isinstance(value, list) else value
