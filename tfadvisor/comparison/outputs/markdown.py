"""A comparison as Markdown, for pull requests and job summaries."""

from __future__ import annotations

from tfadvisor.comparison.result import Comparison
from tfadvisor.comparison.wording import (
    TOTAL,
    beside_words,
    cause_words,
    head_words,
    shown_causes,
    signed,
    verdict_words,
)
from tfadvisor.report.printable import in_code, in_markdown


def as_markdown(comparison: Comparison) -> str:
    """GitHub-flavoured; everything from the traces is escaped."""
    lines = [
        f"## {in_markdown(verdict_words(comparison))}",
        "",
        f"- base {in_code(comparison.base.name)}: {in_markdown(head_words(comparison.base))}",
        f"- new {in_code(comparison.new.name)}: {in_markdown(head_words(comparison.new))}",
        "",
        *causes_table(comparison),
    ]
    if comparison.differences:
        lines += ["The runs differ in:", ""]
        lines += [f"- {in_markdown(difference)}" for difference in comparison.differences] + [""]
    return "\n".join(lines).rstrip() + "\n"


def _in_cell(name: str) -> str:
    return in_code(name, in_table=True)


def causes_table(comparison: Comparison) -> list[str]:
    """The causes, which add up to the last row, and what speaks for them."""
    shown, left = shown_causes(comparison)
    lines = ["| change | class | cause |", "|---:|---|---|"]
    lines += [f"| {signed(cause.change_ms)} | {cause.class_name} | {cause_words(cause, _in_cell)} |" for cause in shown]
    lines += [f"| {signed(milliseconds)} | | {words} |" for milliseconds, words in left]
    lines += [f"| **{signed(comparison.median_change_ms)}** | | **{TOTAL}** |", ""]
    beside = beside_words(comparison, shown)
    lines += [f"- {in_markdown(one)}" for one in beside]
    return [*lines, ""] if beside else lines
