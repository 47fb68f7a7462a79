"""What several findings have for a line of the program, once."""

from __future__ import annotations

from msgspec.structs import replace

from tfadvisor.advice.findings import Finding, Fix, Location
from tfadvisor.advice.once_a_line import once_a_line
from tfadvisor.vocabulary import Severity


def fix(snippet: str, kind: str = "code") -> Fix:
    return Fix(kind, "Do it.", snippet, {}, "any JAX", "")


def found(rule_id: str, proof: str, line: int, *fixes: Fix) -> Finding:
    return Finding(
        rule_id=rule_id,
        category="kernel",
        severity=Severity.LOW,
        title="It takes long",
        summary="It does.",
        evidence=(),
        saving=None,
        fixes=fixes,
        locations=(Location("train.py", line, "sort.0"),),
        source=(),
        caveat="",
        proof=proof,
    )


DRAW = found("far", "shown", 21, fix("randint"))
SORT = found("sorting", "likely", 21, fix("randint"))
HELD_UP = found("held-up", "likely", 21, fix("run it alone", "command"))


def ids(*findings: Finding) -> list[str]:
    return [finding.rule_id for finding in once_a_line(findings)]


def test_what_only_asks_gives_way_to_a_change_of_the_same_line() -> None:
    """Whichever comes first, and to a question that has one."""
    assert ids(DRAW, HELD_UP) == ["far"]
    assert ids(HELD_UP, SORT) == ["sorting"]


def test_it_stays_where_nobody_knows_more() -> None:
    elsewhere = found("sorting", "likely", 22, fix("randint"))
    of_host = replace(DRAW, category="host")

    assert ids(HELD_UP) == ["held-up"]
    assert ids(HELD_UP, elsewhere) == ["held-up", "sorting"]
    assert ids(of_host, HELD_UP) == ["far", "held-up"]
