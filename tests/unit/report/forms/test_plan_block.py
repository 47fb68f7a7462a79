"""The findings together, as the terminal and Markdown have them."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace
from support.trace_builder import trace

from tfadvisor.advice.findings import Plan, PlanStep
from tfadvisor.report.forms.markdown import as_markdown
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.model import Report


def report(*changes: PlanStep) -> Report:
    """Ten steps of 10 ms that load their batch, with a plan on top."""
    builder = trace().steps(10, period=10_000)
    for at in range(0, 100_000, 10_000):
        builder.call("IteratorGetNext", at + 10, at + 8_000).busy(
            "GPU:0", (at + 8_100, at + 9_900)
        )
    return replace(builder.report(), plan=Plan(changes, 0.5, 0.7))


FIRST = PlanStep("input-bound-steps", 0.3, 0.5, 0.5, 0.7, worth=True)
SECOND = PlanStep("eager-execution", 0.05, 0.15, 0.4, 0.6, worth=True)
THIRD = PlanStep("exposed-copies", 0.0, 0.01, 0.39, 0.6, worth=False)


def test_each_change_says_what_it_saves_and_what_remains_and_where_to_stop() -> None:
    text = as_text(report(FIRST, SECOND, THIRD))

    assert "Together, in this order" in text
    assert "saves 30–50%, leaves 5 ms to 7 ms" in text
    assert "2. eager-execution: saves 5.0–15%, leaves 4 ms to 6 ms" in text
    assert "Stop here: the other finding saves hardly anything." in text
    assert "exposed-copies:" not in text


def test_markdown_has_it_as_a_table() -> None:
    text = as_markdown(report(FIRST, SECOND))

    assert "### Together, in this order" in text
    assert "| 2. eager-execution | 5.0–15% | 4 ms to 6 ms |" in text
    assert "Stop here" not in text


def test_one_change_that_is_worth_it_is_no_plan() -> None:
    assert "Together" not in as_text(report(FIRST, THIRD))
    assert "Together" not in as_markdown(report(FIRST, THIRD))
    assert "Together" not in as_text(replace(report(FIRST, SECOND), plan=UNSET))
