"""The fields of the JSON report as a page, from its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def fields_page(schema: str) -> str:
    """Markdown: the report's own fields, then those of each record in it, in the order
    in which they come up.
    """
    whole = json.loads(schema)
    records: Mapping[str, Any] = whole["$defs"]
    first = whole["$ref"].rsplit("/", 1)[1]
    return "".join(_part(name, records) for name in _held(first, records))


def _held(first: str, records: Mapping[str, Any]) -> list[str]:
    """The names of a record and of all that it holds, breadth first; choices of words
    are told where they stand.
    """
    found, left = [], [first]
    while left:
        name = left.pop(0)
        if name not in found and "properties" in records[name]:
            found.append(name)
            left += [
                one
                for field in records[name]["properties"].values()
                for one in _names(field)
            ]
    return found


def _names(field: Any) -> Iterator[str]:
    """The records that a field's schema refers to."""
    if isinstance(field, dict):
        if "$ref" in field:
            yield field["$ref"].rsplit("/", 1)[1]
        for value in field.values():
            yield from _names(value)
    elif isinstance(field, list):
        for value in field:
            yield from _names(value)


def _part(name: str, records: Mapping[str, Any]) -> str:
    record = records[name]
    rows = []
    for field, about in record["properties"].items():
        optional = "" if field in record.get("required", ()) else " May be absent."
        rows.append(
            f"| `{field}` | {_kind(about, records)} | "
            f"{_words(about['description'])}{optional} |"
        )
    return (
        f"\n## {name}\n\n{_words(record['description'])}\n\n| field | type | meaning "
        "|\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _words(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _kind(field: Mapping[str, Any], records: Mapping[str, Any]) -> str:
    """A field's type in words: `list of [Finding](#finding)`."""
    kinds = {"array": _list_of, "object": _by_name}
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        return (
            f"[{name}](#{name.lower()})"
            if "properties" in records[name]
            else _kind(records[name], records)
        )
    if "const" in field or "enum" in field:
        return ", ".join(f"`{one}`" for one in field.get("enum", [field.get("const")]))
    if "anyOf" in field:
        return " or ".join(_kind(one, records) for one in field["anyOf"])
    return (
        kinds[field["type"]](field, records)
        if field["type"] in kinds
        else str(field["type"])
    )


def _list_of(field: Mapping[str, Any], records: Mapping[str, Any]) -> str:
    return f"list of {_kind(field['items'], records)}"


def _by_name(field: Mapping[str, Any], records: Mapping[str, Any]) -> str:
    return f"name → {_kind(field['additionalProperties'], records)}"
