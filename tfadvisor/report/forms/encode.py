"""Page data as the JSON that the page reads: tables as columns, numbers short, nothing
that could end its script tag.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_type_hints

import msgspec
import numpy as np

from tfadvisor.arrays import distinct
from tfadvisor.printable import names_apart
from tfadvisor.report.about import about_lines, crowded_words
from tfadvisor.report.forms.packed_steps import packed_steps
from tfadvisor.report.forms.page_data import (
    CallRow,
    CollectiveRow,
    ComparedRuns,
    DrawnHead,
    DrawnStep,
    PageData,
    PartRow,
)
from tfadvisor.report.model import ActivityTime, Op, PlacedTime, Report, StepInfo
from tfadvisor.report.wording import bar_note, plan_end, plan_lines
from tfadvisor.vocabulary import TIME_CLASSES

FORMAT = 4
"""Of the data; the page that is built with it reads no other."""
_DIGITS = 6
_LONGEST_NAME = 40
"""Characters of a short name, for which the page's tables have room."""
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def encode_pages(
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
        "comparisons": [_short(_fields(comparison)) for comparison in comparisons],
    }
    text = json.dumps(
        data,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def encode_comparison(comparison: ComparedRuns) -> str:
    """One of the comparisons of `encode_pages`, by itself, for a server that answers
    with it.
    """
    return _json(_short(_fields(comparison)))


def _json(data: Any) -> str:
    return json.dumps(
        data,
        separators=(",", ":"),
        allow_nan=False,
    )


_TABLES: Mapping[str, type[msgspec.Struct]] = {
    "ops": Op,
    "collectives": CollectiveRow,
    "calls": CallRow,
    "parts": PartRow,
}
"""Fields that are sent as columns."""
_MADE = ("report", "drawn", "more")
"""Fields that are sent in another shape."""


def _page(page: PageData) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in page.__struct_fields__:
        if name not in _TABLES and name not in _MADE:
            found[name] = _short(_plain(getattr(page, name)))
    for name, kind in _TABLES.items():
        found[name] = _columns(kind, getattr(page, name))

    report = page.report
    found["report"] = _short(_report(report))
    found["step_shares"] = _step_shares(report.steps.each)
    found["drawn"] = [_head(step) for step in page.drawn]
    found["drawn_packed"] = packed_steps(page.drawn)
    found["more"] = packed_steps(page.more)
    crowded = crowded_words(report)
    found["about"] = [*([crowded] if crowded else []), *about_lines(report)]
    found["plan"] = [_fields(plan_line) for plan_line in plan_lines(report)]
    found["plan_end"] = plan_end(report)
    found["bar_note"] = bar_note(report)
    found["short_names"] = _short_names(_names(page))
    return found


def _report(report: Report) -> dict[str, Any]:
    """What the page reads of it; steps as columns, their shares and ops elsewhere."""
    data = report.to_dict()
    data["steps"]["each"] = _columns(StepInfo, report.steps.each)
    del data["steps"]["each"]["breakdown"], data["ops"]
    for told_in_words in ("machines", "plan"):
        data.pop(told_in_words, None)
    return data


def _step_shares(steps: Sequence[StepInfo]) -> dict[str, list[int]]:
    """Of each class, a hundred-thousandth of a step's period as 1."""
    if not steps:
        return {}
    shares = {}
    for time_class in TIME_CLASSES:
        shares[time_class] = [round(step.breakdown[time_class] * 1e5) for step in steps]
    return shares


def _names(page: PageData) -> Iterator[str | None]:
    """Of ops and kernels, in the table, where the step goes and in drawn steps."""
    for op in page.ops:
        yield from (op.op, op.kernel)
    activities = [
        activity for kind in page.report.attribution for activity in kind.parts
    ]
    parts: list[ActivityTime | PlacedTime] = [*activities]
    for activity in activities:
        parts += activity.parts
    for part in parts:
        if "::" in part.activity:
            yield part.activity
        yield from (place.kernel for place in part.places)
    for step in (*page.drawn, *page.more):
        yield from _of_devices(step)


def _of_devices(step: DrawnStep) -> Iterator[str]:
    is_stream = np.array([lane.role == "stream" for lane in step.lanes], np.bool_)
    names = distinct(step.name[is_stream[step.lane]])
    yield from (step.names[row] for row in names.tolist() if row >= 0)


def _short_names(names: Iterable[str | None]) -> dict[str, str]:
    """Of the names that are too long."""
    called = names_apart(filter(None, names), _LONGEST_NAME)
    return {name: short for name, short in called.items() if short != name}


def _head(step: DrawnStep) -> dict[str, Any]:
    return {name: getattr(step, name) for name in DrawnHead.__struct_fields__}


def encode_step(step: DrawnStep) -> str:
    """One drawn step by itself, for a server that answers with it."""
    return _json(_drawn(step))


def _drawn(step: DrawnStep) -> dict[str, Any]:
    """Rows that stand for themselves are left out of `events` and `busy`, which list
    the blocks alone.
    """
    found: dict[str, Any] = {}
    for name in step.__struct_fields__:
        value = getattr(step, name)
        if name not in ("events", "busy"):
            is_column = isinstance(value, np.ndarray)
            found[name] = value.tolist() if is_column else _plain(value)

    blocks = np.flatnonzero(step.events > 1)
    found["block"] = blocks.tolist()
    found["block_events"] = step.events[blocks].tolist()
    found["block_busy"] = step.busy[blocks].tolist()
    return found


def _columns(
    kind: type[msgspec.Struct],
    rows: Sequence[Any],
) -> dict[str, Any]:
    """One column a field of the rows' record; those of texts, which repeat, become
    {"texts", "code"}.
    """
    types = _types(kind)
    columns = {}
    for name in kind.__struct_fields__:
        values = [getattr(row, name) for row in rows]
        if types[name] not in _AS_THEY_ARE:
            values = list(map(_short, values))
        columns[name] = _column(values, types[name])
    return columns


_types = cache(get_type_hints)
_AS_THEY_ARE = (int, bool, str, str | None)


def _column(
    values: list[Any],
    kind: object,
) -> Any:
    if kind not in (str, str | None):
        return values
    places = {text: place for place, text in enumerate(dict.fromkeys(values))}
    return {"texts": list(places), "code": [places[text] for text in values]}


def _fields(struct: Any) -> dict[str, Any]:
    return {name: _plain(getattr(struct, name)) for name in struct.__struct_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _fields(value)
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return value


def _short(value: Any) -> Any:
    """Six significant digits are more than any screen shows."""
    if isinstance(value, float):
        short = float(f"{value:.{_DIGITS}g}")
        is_whole = short.is_integer() and abs(short) < 1e15
        return int(short) if is_whole else short
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    return value
