"""The page's TypeScript types say what its data holds: each field there, none more, of
its type.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.pages import page_of, page_of_folder
from support.trace_builder import trace

from tfadvisor.report.forms.encode import encode_pages
from tfadvisor.report.forms.page_data import CauseRow, ComparedRuns

ROOT = Path(__file__).parents[4]
GENERATED = ROOT / "web" / "src" / "data" / "generated.ts"
SIMPLE = {"string": str, "number": (int, float), "boolean": bool, "null": type(None)}

pytestmark = pytest.mark.skipif(
    not GENERATED.exists(), reason="the page's sources are not beside this package"
)


def interfaces() -> dict[str, dict[str, str]]:
    """Name -> field -> type, as generated.ts has them; a field that may be absent ends
    with a question mark.
    """
    found = re.findall(
        r"export interface (\w+) \{\n(.*?)\n\}",
        GENERATED.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    return {
        name: dict(re.findall(r"^  (\w+\??): (.*);$", fields, re.MULTILINE))
        for name, fields in found
    }


def check(value: Any, kind: str, known: dict[str, dict[str, str]], place: str) -> None:
    """Fails with the place of the first value that is not of its type."""
    if kind.removesuffix(" | null") in known and value is not None:
        kind = kind.removesuffix(" | null")
    if kind.endswith("[]"):
        for index, one in enumerate(value):
            check(
                one,
                kind.removesuffix("[]").removeprefix("(").removesuffix(")"),
                known,
                f"{place}[{index}]",
            )
    elif kind.startswith("Record<string, "):
        for name, one in value.items():
            check(
                one,
                kind.removeprefix("Record<string, ").removesuffix(">"),
                known,
                f"{place}.{name}",
            )
    elif kind.startswith("Columns<"):
        row = known[kind.removeprefix("Columns<").removesuffix(">")]
        assert value.keys() == row.keys(), place
        for name, cell in row.items():
            check(
                value[name],
                "Texts" if "string" in cell else f"({cell})[]",
                known,
                f"{place}.{name}",
            )
    elif kind in known:
        fields = known[kind]
        needed = {name for name in fields if not name.endswith("?")}
        assert needed <= value.keys() <= {name.rstrip("?") for name in fields}, place
        for name, inside in fields.items():
            if name.rstrip("?") in value:
                check(value[name.rstrip("?")], inside, known, f"{place}.{name}")
    else:
        parts = kind.split(" | ")
        fits = [
            part for part in parts if part in SIMPLE and isinstance(value, SIMPLE[part])
        ]
        assert fits or json.dumps(value) in parts, f"{place} is {value!r}, no {kind}"


@pytest.mark.parametrize("folder", ["jax-logging", "tf-python-map", "jax-hosts-late"])
def test_the_data_of_a_page_are_of_the_types_that_it_is_written_for(
    folder: str,
) -> None:
    cause = CauseRow(change_ms=1.0, class_name="input", words="more input")
    compared = ComparedRuns(0, 0, "slower", 1.0, (cause,), (), ())

    data = json.loads(
        encode_pages(
            [page_of_folder(ROOT / "fixtures" / folder)], comparisons=[compared]
        )
    )

    check(data, "Data", interfaces(), "data")


def test_empty_tables_have_their_columns() -> None:
    """A host alone: no op, no collective, no call."""
    (run,) = json.loads(encode_pages([page_of(trace().call("anything", 0, 1))]))["runs"]

    check(run, "PageData", interfaces(), "run")
    assert run["collectives"]["bytes"] == []
    assert run["ops"]["kernel"] == {"texts": [], "code": []}


def test_a_column_of_numbers_stays_one_when_none_is_known() -> None:
    page = page_of(
        trace().steps(3, period=100).busy("GPU:0", (0, 50), (100, 150), (200, 250))
    )

    (run,) = json.loads(encode_pages([page]))["runs"]

    assert set(run["ops"]["flops"]) == {None}
