"""The page's TypeScript: types of its data from the records, words and colours from the
vocabulary.
"""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum

import msgspec

from tfadvisor.advice.findings import Finding, Fix
from tfadvisor.report.forms.encode import FORMAT
from tfadvisor.report.forms.page_data import (
    CallRow,
    CollectiveRow,
    Column,
    ComparedRuns,
    DrawnHead,
    DrawnStep,
    PageData,
    PartRow,
)
from tfadvisor.report.model import (
    SCHEMA_VERSION,
    ClassTime,
    Op,
    Report,
    StepInfo,
    StepsInfo,
)
from tfadvisor.report.wording import PlanLine
from tfadvisor.units import Unit, in_words
from tfadvisor.vocabulary import (
    CLASS_OF_WORK,
    FRAMEWORKS,
    TIME_CLASSES,
    VERDICTS,
    TimeClass,
)

NOTE = "/** Written by docs/generate.py; edit the Python instead. */\n"
_WRITTEN_OTHERWISE: Mapping[type, Mapping[str, object]] = {
    Report: {
        "schema_version": typing.Literal[SCHEMA_VERSION],
        "ops": None,
        "machines": None,
        "plan": None,
    },
    ClassTime: {"kind": None, "class": str},
    StepsInfo: {"each": [StepInfo]},
    StepInfo: {"breakdown": None},
    Fix: {"patch": None},
    Finding: {"tried": None},
    PageData: {
        "ops": [Op],
        "collectives": [CollectiveRow],
        "calls": [CallRow],
        "drawn": tuple[DrawnHead, ...],
        "drawn_packed": str,
        "more": str,
        "parts": [PartRow],
        "about": tuple[str, ...],
        "plan": tuple[PlanLine, ...],
        "plan_end": str,
        "bar_note": str,
        "step_shares": Mapping[str, tuple[int, ...]],
        "short_names": Mapping[str, str],
    },
    DrawnStep: {
        "events": None,
        "busy": None,
        "block": Column,
        "block_events": Column,
        "block_busy": Column,
    },
}
"""Fields that report/page/encode.py writes in another shape than the record's: None for
none, a list for columns.
"""
_PLAIN: Mapping[object, str] = {
    str: "string",
    float: "number",
    int: "number",
    bool: "boolean",
    type(None): "null",
    Column: "number[]",
}
_FIXED = """
/** Texts that repeat: row i is texts[code[i]]. */
export interface Texts {
  texts: (string | null)[];
  code: number[];
}

/** A table: one column for each field of a row. */
export type Columns<Row> = { [Name in keyof Row]: [Row[Name]] extends [string | null] ? Texts : Row[Name][] };

/** What stands inside the page. */
export interface Data {
  format: number;
  trace_viewer: string | null;
  runs: PageData[];
  comparisons: ComparedRuns[];
}
"""
_SAMPLES = (
    *((value, Unit.FRACTION) for value in (0.382, 0.004, 0.0, 1.0, 0.1, 0.0996)),
    *((value, Unit.MS) for value in (1234.0, 123.4, 12.34, 1.0, 0.0123, 0.0)),
    *((value, Unit.US) for value in (12.5, 2500.0)),
    *((value, Unit.BYTES) for value in (512.0, 1536.0, 3e9)),
    *((value, Unit.COUNT) for value in (1234567.0, 1.26, 250.7)),
    *((value, Unit.GB_S) for value in (2.5, 48.0)),
)


def page_types() -> str:
    """generated.ts: an interface for each record that the page's data holds, then the
    vocabulary.
    """
    known: dict[str, str] = {}
    for root in (PageData, DrawnStep, ComparedRuns):
        _describe(root, known)
    return (
        NOTE
        + _FIXED
        + "\n"
        + "\n".join(known.values())
        + "\n"
        + "\n".join(_vocabulary())
        + "\n"
    )


def page_colours() -> str:
    """generated.css: a colour for each class of time, on light and on dark pages."""
    light, dark = (
        "".join(
            f"  --k-{time_class.label}: {time_class.colours[theme]};\n"
            for time_class in TimeClass
        )
        for theme in (0, 1)
    )
    indented = dark.replace("  --", "    --")
    rules = "\n".join(
        f".k-{time_class.label} {{ background: var(--k-{time_class.label}); fill: "
        f"var(--k-{time_class.label}); }}"
        for time_class in TimeClass
    )
    return (
        "/* Written by docs/generate.py; edit tfadvisor/vocabulary.py instead. */\n"
        f":root {{\n{light}}}\n\n"
        f':root[data-theme="dark"] {{\n{dark}}}\n\n'
        "@media (prefers-color-scheme: dark) {\n"
        f'  :root:not([data-theme="light"]) {{\n{indented}  }}\n}}\n\n{rules}\n'
    )


def page_words() -> str:
    """generated_words.ts: numbers as tfadvisor/units.py says them, which
    web/src/words.ts is tested against.
    """
    rows = [
        f"  [{value}, {_text(unit.value)}, {_text(in_words(value, unit))}],"
        for value, unit in _SAMPLES
    ]
    return (
        NOTE
        + "export const WORDS: [number, string, string][] = [\n"
        + "\n".join(rows)
        + "\n];\n"
    )


def _describe(record: type, known: dict[str, str]) -> None:
    """Adds a record's interface to the known ones, and those of the records inside it
    before it.
    """
    if record.__name__ in known:
        return
    known[record.__name__] = ""  # which may hold itself
    fields = typing.get_type_hints(record)
    fields.update(_WRITTEN_OTHERWISE.get(record, {}))
    lines = [
        f"  {name}{'?' if _may_lack(kind) else ''}: {_type(kind, known)};"
        for name, kind in fields.items()
        if kind is not None
    ]
    about = (
        inspect.cleandoc(record.__doc__ or "")
        .replace("\n", "\n * ")
        .replace("\n * \n", "\n *\n")
    )
    about = f"/**\n * {about}\n */" if "\n" in about else f"/** {about} */"
    del known[record.__name__]
    known[record.__name__] = (
        f"{about}\nexport interface {record.__name__} {{\n" + "\n".join(lines) + "\n}\n"
    )


def _may_lack(kind: typing.Any) -> bool:
    """Whether a field of this type is absent from the page's data where there is
    nothing to say.
    """
    return msgspec.UnsetType in typing.get_args(kind)


def _type(kind: typing.Any, known: dict[str, str]) -> str:
    """A Python type in TypeScript. Raises TypeError for one that the page's data never
    holds.
    """
    if isinstance(kind, list):
        return f"Columns<{_type(kind[0], known)}>"
    if kind in _PLAIN:
        return _PLAIN[kind]
    return (
        _class(kind, known)
        if typing.get_origin(kind) is None
        else _of_parts(kind, known)
    )


def _of_parts(kind: typing.Any, known: dict[str, str]) -> str:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(
            dict.fromkeys(
                _type(part, known) for part in parts if part is not msgspec.UnsetType
            )
        )
    if origin is typing.Literal:
        return " | ".join(_text(part) for part in parts)
    if origin is tuple:
        inside = _type(parts[0], known)
        return f"({inside})[]" if " " in inside else f"{inside}[]"
    if issubclass(origin, Mapping):
        return f"Record<string, {_type(parts[1], known)}>"
    raise TypeError(f"{kind} has no place in the page's data")


def _class(kind: type, known: dict[str, str]) -> str:
    if issubclass(kind, Enum):
        return " | ".join(_text(one.value) for one in kind)
    if issubclass(kind, msgspec.Struct):
        _describe(kind, known)
        return kind.__name__
    raise TypeError(f"{kind} has no place in the page's data")


def _vocabulary() -> Iterator[str]:
    yield f"export const FORMAT = {FORMAT};\n"
    classes = ", ".join(_text(time_class) for time_class in TIME_CLASSES)
    yield f"/** Classes of time, in the order of their codes. */\nexport const CLASSES = [{classes}] as const;"
    yield "export type Class = (typeof CLASSES)[number];\n"
    yield _record(
        "CLASS_MEANING",
        "Class",
        {time_class.label: time_class.meaning for time_class in TimeClass},
    )
    yield _record(
        "CLASS_OF_WORK",
        "string",
        {kind: one.label for kind, one in CLASS_OF_WORK.items()},
        "Class",
    )
    yield _record(
        "VERDICT_NAMES",
        "string",
        {name: words.name for name, words in VERDICTS.items()},
    )
    yield _record("FRAMEWORKS", "string", FRAMEWORKS).rstrip("\n")


def _record(
    name: str, key: str, values: Mapping[str, object], value: str = "string"
) -> str:
    rows = [f"  {_text(one)}: {_text(words)}," for one, words in values.items()]
    return (
        f"export const {name}: Record<{key}, {value}> = {{\n"
        + "\n".join(rows)
        + "\n};\n"
    )


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
