"""A comparison for a terminal."""

from __future__ import annotations

from typing import TextIO

from tfadvisor.comparison.outputs.terminal_lines import BOLD, DIM, GREEN, RED, YELLOW, Page
from tfadvisor.comparison.result import Comparison
from tfadvisor.comparison.wording import (
    cause_words,
    finding_words,
    head_words,
    metric_words,
    shown_causes,
    signed,
    speed_words,
    verdict_words,
)
from tfadvisor.report.printable import one_line

_COLUMN = 12


def print_comparison(comparison: Comparison, out: TextIO) -> None:
    """Writes to a stream."""
    page = Page(out)
    page.hanging("base", f"{one_line(comparison.base.name)}: {head_words(comparison.base)}", _COLUMN, DIM)
    page.hanging("new", f"{one_line(comparison.new.name)}: {head_words(comparison.new)}", _COLUMN, DIM)
    page.line()
    page.line(verdict_words(comparison), BOLD)
    page.line()
    causes(page, comparison)
    for difference in comparison.differences:
        page.hanging("differs", one_line(difference), _COLUMN, YELLOW)
    out.write(page.text())
    out.flush()


def causes(page: Page, comparison: Comparison) -> None:
    """The causes with what speaks for them; they add up to the change."""
    shown, others = shown_causes(comparison)
    if not comparison.change_ms and not any(cause.change_ms for cause in comparison.causes):
        return
    for cause in shown:
        style = RED if cause.change_ms > 0 else GREEN
        page.hanging(signed(cause.change_ms), f"{cause.class_name:<11}{cause_words(cause)}", _COLUMN, style)
    if abs(others) > 1e-3 * abs(comparison.change_ms):
        page.hanging(signed(others), "everything else", _COLUMN, DIM)
    page.hanging(signed(comparison.change_ms), "in all, mean step time", _COLUMN, BOLD)
    page.line()
    named = {cause.class_name for cause in shown}
    for metric in dict.fromkeys(metric_words(one) for one in comparison.metrics if one.class_name in named):
        page.hanging("beside it", metric, _COLUMN, DIM)
    for finding in comparison.findings:
        page.hanging("beside it", finding_words(finding), _COLUMN, DIM)
    if words := speed_words(comparison):
        page.hanging("beside it", words, _COLUMN, YELLOW)


def as_text(comparison: Comparison) -> str:
    """The same as a string without colours."""
    import io  # noqa: PLC0415

    out = io.StringIO()
    print_comparison(comparison, out)
    return out.getvalue()
