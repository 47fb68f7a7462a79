"""What several findings have for a line of the program, once."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.advice.findings import Finding

_OF_DEVICES = frozenset(("compute", "kernel"))
"""Categories of what devices compute."""


def once_a_line(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Without those that only ask what holds devices up on a line where another one has
    a change.
    """
    return tuple(
        finding
        for finding in findings
        if not any(_knows(other, finding) for other in findings)
    )


def _knows(finding: Finding, question: Finding) -> bool:
    """Whether a question has commands alone, and the other one a change."""
    kinds = {fix.kind for fix in question.fixes}
    if not question.is_question or kinds != {"command"}:
        return False
    if not {finding.category, question.category} <= _OF_DEVICES:
        return False
    has_change = any(fix.kind == "code" for fix in finding.fixes)
    return has_change and _share_a_line(finding, question)


def _share_a_line(first: Finding, second: Finding) -> bool:
    lines = [
        {(place.file, place.line) for place in each.locations if place.line}
        for each in (first, second)
    ]
    return not lines[0].isdisjoint(lines[1])
