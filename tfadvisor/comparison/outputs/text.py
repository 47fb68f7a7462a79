"""A comparison for a terminal."""

from __future__ import annotations

from typing import TextIO

from tfadvisor.comparison.result import Comparison
from tfadvisor.comparison.wording import (
    TOTAL,
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
from tfadvisor.report.terminal_text import DIM, PLAIN, TITLE, Piece, Screen, TextPage, screen_of

_MARGIN = 2
_COLUMN = 12


def print_comparison(comparison: Comparison, out: TextIO) -> None:
    """Writes to a stream, as wide and colourful as that is."""
    out.write(as_text(comparison, screen=screen_of(out)))
    out.flush()


def as_text(comparison: Comparison, *, screen: Screen = PLAIN) -> str:
    """The comparison as text."""
    page = TextPage(screen)
    _beside(page, ("base", DIM), f"{one_line(comparison.base.name)}: {head_words(comparison.base)}")
    _beside(page, ("new", DIM), f"{one_line(comparison.new.name)}: {head_words(comparison.new)}")
    page.line()
    page.line((verdict_words(comparison), TITLE))
    page.line()
    causes(page, comparison)
    for difference in comparison.differences:
        _beside(page, ("differs", "yellow"), one_line(difference))
    return page.text()


def _beside(page: TextPage, label: Piece, text: str) -> None:
    page.hanging(label, text, _MARGIN + _COLUMN, _MARGIN)


def causes(page: TextPage, comparison: Comparison) -> None:
    """The causes with what speaks for them; they add up to the change."""
    shown, left = shown_causes(comparison)
    if not comparison.change_ms and not any(cause.change_ms for cause in comparison.causes):
        return
    for cause in shown:
        style = "bold red" if cause.change_ms > 0 else "green"
        _beside(page, (signed(cause.change_ms), style), f"{cause.class_name:<11}{cause_words(cause)}")
    for milliseconds, words in left:
        _beside(page, (signed(milliseconds), DIM), words)
    _beside(page, (signed(comparison.median_change_ms), TITLE), TOTAL)
    page.line()
    named = {cause.class_name for cause in shown}
    for metric in dict.fromkeys(metric_words(one) for one in comparison.metrics if one.class_name in named):
        _beside(page, ("beside it", DIM), metric)
    for finding in comparison.findings:
        _beside(page, ("beside it", DIM), finding_words(finding))
    if words := speed_words(comparison):
        _beside(page, ("beside it", "yellow"), words)
