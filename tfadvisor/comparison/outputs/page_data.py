"""A comparison as the page shows it: its causes in words."""

from __future__ import annotations

from msgspec.structs import replace

from tfadvisor.comparison.result import Comparison
from tfadvisor.comparison.wording import beside_words, cause_words, shown_causes, verdict_words
from tfadvisor.report.page.model import CauseRow, ComparedRuns
from tfadvisor.report.printable import one_line


def on_page(comparison: Comparison, new: int, base: int) -> ComparedRuns:
    """new, base: places of the runs in the page."""
    shown, left = shown_causes(comparison)
    causes = [CauseRow(one.change_ms, one.class_name, cause_words(one)) for one in shown]
    causes += [CauseRow(milliseconds, "", words) for milliseconds, words in left]
    return ComparedRuns(
        new=new,
        base=base,
        summary=verdict_words(comparison),
        change_ms=comparison.median_change_ms,
        causes=tuple(causes),
        beside=tuple(beside_words(replace(comparison, findings=()), shown)),  # the page lists findings by itself
        differences=tuple(one_line(one) for one in comparison.differences),
    )
