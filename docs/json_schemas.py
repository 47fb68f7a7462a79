"""JSON Schemas of what the command writes for machines, made from the records that it
writes.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, get_args

import msgspec

from tfadvisor.act.trial import trial_result as trial
from tfadvisor.comparison import change as comparison
from tfadvisor.comparison.gate import result as verdict
from tfadvisor.report import model as report

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_VERSION = (
    "Version of this form. Under the same version fields are added, never renamed or "
    "removed."
)
_TOOL = {"$ref": "#/$defs/Tool"}
_BESIDE_COMPARISON = {
    "change_fraction": {
        "type": "number",
        "description": "change_ms as a share of the base's mean step time.",
    },
    "residual_ms": {
        "type": "number",
        "description": "What the causes leave unexplained: rounding.",
    },
}


def schemas() -> dict[str, str]:
    """File name to text, for the JSON of `analyze`, `compare`, `gate` and `try`."""
    return {
        f"report-{report.SCHEMA_VERSION}.json": _schema(
            report.Report, report.SCHEMA_VERSION
        ),
        f"comparison-{comparison.SCHEMA_VERSION}.json": _schema(
            comparison.Comparison, comparison.SCHEMA_VERSION
        ),
        f"gate-{verdict.SCHEMA_VERSION}.json": _schema(
            verdict.GateResult, verdict.SCHEMA_VERSION
        ),
        f"trial-{trial.SCHEMA_VERSION}.json": _schema(
            trial.TrialResult, trial.SCHEMA_VERSION
        ),
    }


def _schema(record: type[msgspec.Struct], version: str) -> str:
    """The schema of what the record's `to_dict` gives: its fields, and what that method
    adds to them.
    """
    _, records = msgspec.json.schema_components(
        [record, report.Tool], ref_template="#/$defs/{name}"
    )
    added: dict[str, dict[str, Any]] = {record.__name__: _head(version)}
    if "Comparison" in records:  # inside a verdict too it is whole
        added["Comparison"] = _head(comparison.SCHEMA_VERSION) | _BESIDE_COMPARISON
    for described in records.values():
        if "description" in described:  # Python 3.13 dedents docstrings, 3.12 does not
            described["description"] = flowing(described["description"])
    for name, fields in added.items():
        records[name]["properties"] = fields | records[name]["properties"]
        records[name]["required"] = list(
            dict.fromkeys([*fields, *records[name]["required"]])
        )
    _describe(record, records)
    whole = {
        "$schema": _DIALECT,
        "$ref": f"#/$defs/{record.__name__}",
        "$defs": records,
    }
    return json.dumps(whole, indent=2) + "\n"


def _head(version: str) -> dict[str, Any]:
    return {
        "schema_version": {"const": version, "description": _VERSION},
        "tool": dict(_TOOL),
    }


def _describe(record: type[msgspec.Struct], records: dict[str, Any]) -> None:
    """Each record by its docstring, each field by the one below it, where it
    has one.
    """
    for one in _held(record, []):
        described = records[one.__name__]
        described["description"] = flowing(inspect.getdoc(one) or "")
        for field, words in _docstrings(one):
            described["properties"][field]["description"] = flowing(words)


def flowing(text: str) -> str:
    """Each paragraph on one line, as whoever shows it breaks lines anew."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _held(
    kind: Any, known: list[type[msgspec.Struct]]
) -> Sequence[type[msgspec.Struct]]:
    """The known records, with this one and all that it holds."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if kind in known:
            return known
        known.append(kind)
        for field in msgspec.structs.fields(kind):
            _held(field.type, known)
    for part in get_args(kind):
        _held(part, known)
    return known


def _docstrings(record: type[msgspec.Struct]) -> Iterator[tuple[str, str]]:
    """The fields that have a docstring, by their names in JSON; those of the record
    that it is a kind of, too.
    """
    in_json = dict(
        zip(record.__struct_fields__, record.__struct_encode_fields__, strict=True)
    )
    if record.__base__ is not msgspec.Struct:
        yield from _docstrings(record.__base__)  # type: ignore[arg-type]
    body = ast.parse(inspect.getsource(record)).body[0].body  # type: ignore[attr-defined]
    for field, words in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and _is_text(words)
        ):
            yield (
                in_json[field.target.id],
                inspect.cleandoc(ast.literal_eval(words.value)),
            )


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
