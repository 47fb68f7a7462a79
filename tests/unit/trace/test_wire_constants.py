"""Numbers that the compiled decoder shares with Python, read from its source."""

from __future__ import annotations

import re

from support.places import ROOT

from tfadvisor.trace import bounds as protobuf
from tfadvisor.trace.columns import Kind

PARTS = ROOT / "tfadvisor" / "trace" / "wire"


def constants(part: str, prefix: str) -> dict[str, int]:
    found = re.findall(
        rf"^    {prefix}_(\w+) = (\d+)$", (PARTS / part).read_text(), re.MULTILINE
    )
    return {name: int(value) for name, value in found}


def test_wire_types_are_those_of_protobuf() -> None:
    groups = {"GROUP": 3, "GROUP_END": 4}

    assert constants("fields.pxi", "WIRE") == groups | {
        "VARINT": protobuf.VARINT,
        "FIXED64": protobuf.FIXED_64,
        "LENGTH": protobuf.SIZED,
        "FIXED32": protobuf.FIXED_32,
    }


def test_kinds_of_stats_are_those_of_the_columns() -> None:
    assert constants("stats.pxi", "KIND") == {kind.name: kind.value for kind in Kind}


def test_the_extension_is_made_anew_when_any_part_changes() -> None:
    included = re.findall(
        r'^include "(wire/\w+\.pxi)"$',
        (PARTS.parent / "_wire.pyx").read_text(),
        re.MULTILINE,
    )
    watched = re.findall(
        r'"tfadvisor/trace/(wire/\w+\.pxi)"', (ROOT / "pyproject.toml").read_text()
    )

    assert (
        sorted(included)
        == sorted(watched)
        == sorted(f"wire/{path.name}" for path in PARTS.iterdir())
    )
