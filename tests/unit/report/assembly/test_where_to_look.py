"""Where to look first in a step that computes: what a question asks about much of it,
with its line.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.trace_builder import trace

from tfadvisor.advice.findings import Finding, Location
from tfadvisor.report.assembly.report import _asked
from tfadvisor.vocabulary import Severity


@pytest.fixture(scope="module")
def question() -> Finding:
    """About 20% of the step."""
    builder = trace()
    for index in range(5):
        at = index * 100
        builder.step(at, at + 100).call("load_batch", at, at + 60)
        builder.kernel("GPU:0", "k", at + 70, at + 100, launched=(at + 61, at + 62))
    return replace(
        builder.report().findings[0],
        category="compute",
        title="Drawing takes much",
        severity=Severity.LOW,
        saving=None,
        proof="likely",
        ask="Are all used?",
        takes=0.2,
        locations=(Location("model.py", 34, "draw"),),
    )


def test_a_question_about_a_fifth_of_the_step_is_named_with_its_line_behind_other_findings(
    question: Finding,
) -> None:
    shown = replace(question, proof="shown")

    assert (
        _asked([shown, question]) == "worth checking: drawing takes much (model.py:34)"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"takes": 0.19},
        {"takes": None},
        {"category": "host"},
        {"proof": "shown"},
        {"locations": ()},
    ],
)
def test_small_ones_and_those_without_a_line_are_not(
    question: Finding, change: dict[str, Any]
) -> None:
    assert _asked([replace(question, **change)]) is None
