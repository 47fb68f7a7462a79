"""Every form of a comparison: terminal, Markdown, page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tfadvisor.comparison.result import Cause, Comparison, FindingChange, Head
from tfadvisor.printable import in_code, in_markdown, one_line, short_kernel
from tfadvisor.report.forms.forms import Form
from tfadvisor.text_page import DIM, PLAIN, TITLE, Piece, Screen, TextPage
from tfadvisor.units import counted, duration, percent

if TYPE_CHECKING:
    from tfadvisor.report.forms.page_data import ComparedRuns


_MARGIN = 2
_COLUMN = 12


def as_text(comparison: Comparison, *, screen: Screen = PLAIN) -> str:
    """The comparison as text."""
    page = TextPage(screen)
    _beside(
        page,
        ("base", DIM),
        f"{one_line(comparison.base.name)}: {head_words(comparison.base)}",
    )
    _beside(
        page,
        ("new", DIM),
        f"{one_line(comparison.new.name)}: {head_words(comparison.new)}",
    )
    for difference in comparison.differences:
        if difference not in comparison.refused:
            _beside(page, ("differs", "yellow"), one_line(difference))
    page.line()
    page.line((verdict_words(comparison), TITLE))
    page.line()
    if not comparison.refused:
        causes(page, comparison)
    return page.text()


def _beside(page: TextPage, label: Piece, text: str) -> None:
    page.hanging(label, text, _MARGIN + _COLUMN, _MARGIN)


def causes(page: TextPage, comparison: Comparison) -> None:
    """The causes with what speaks for them; they add up to the change."""
    if not comparison.change_ms and not any(
        cause.change_ms for cause in comparison.causes
    ):
        return
    for milliseconds, class_name, words in cause_rows(comparison):
        style = DIM if not class_name else "bold red" if milliseconds > 0 else "green"
        _beside(
            page,
            (signed(milliseconds), style),
            f"{class_name:<11}{words}" if class_name else words,
        )
    _beside(page, (signed(comparison.median_change_ms), TITLE), TOTAL)
    page.line()
    for words in beside_words(comparison):
        _beside(page, ("beside it", DIM), words)


# A comparison as Markdown, for pull requests and job summaries.


def as_markdown(comparison: Comparison) -> str:
    """GitHub-flavoured; everything from the traces is escaped."""
    lines = [
        f"## {in_markdown(verdict_words(comparison))}",
        "",
        f"- base {in_code(comparison.base.name)}: "
        f"{in_markdown(head_words(comparison.base))}",
        f"- new {in_code(comparison.new.name)}: "
        f"{in_markdown(head_words(comparison.new))}",
        *(
            f"- differs: {in_markdown(one)}"
            for one in comparison.differences
            if one not in comparison.refused
        ),
        "",
        *([] if comparison.refused else causes_table(comparison)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _in_cell(name: str) -> str:
    return in_code(name, in_table=True)


def causes_table(comparison: Comparison) -> list[str]:
    """The causes, which add up to the last row, and what speaks for them."""
    rows = cause_rows(comparison, _in_cell)
    lines = ["| change | class | cause |", "|---:|---|---|"]
    lines += [
        f"| {signed(milliseconds)} | {name} | {words} |"
        for milliseconds, name, words in rows
    ]
    lines += [f"| **{signed(comparison.median_change_ms)}** | | **{TOTAL}** |", ""]
    beside = beside_words(comparison)
    lines += [f"- {in_markdown(one)}" for one in beside]
    return [*lines, ""] if beside else lines


# A comparison as the page shows it: its causes in words.


def on_page(comparison: Comparison, new: int, base: int) -> ComparedRuns:
    """new, base: places of the runs in the page."""
    from tfadvisor.report.forms.page_data import (
        CauseRow,
        ComparedRuns,
    )  # NumPy, which no other form needs

    return ComparedRuns(
        new=new,
        base=base,
        summary=verdict_words(comparison),
        change_ms=comparison.median_change_ms,
        causes=tuple(CauseRow(*row) for row in cause_rows(comparison)),
        beside=tuple(
            beside_words(replace(comparison, findings=()))
        ),  # the page lists findings by itself
        differences=tuple(one_line(one) for one in comparison.differences),
    )


# The forms of a comparison.

COMPARISON_FORMS = (
    Form("text", (".txt",), "tfadvisor.comparison.forms:as_text", on_screen=True),
    Form("json", (".json",), "tfadvisor.report.forms.html:as_json"),
    Form("markdown", (".md", ".markdown"), "tfadvisor.comparison.forms:as_markdown"),
    Form("html", (".html", ".htm"), "tfadvisor.report.forms.html:as_html", drawn=True),
)

# A comparison for whoever calls Python.


class ShownComparison(msgspec.Struct, frozen=True):
    """A comparison that shows itself as text."""

    comparison: Comparison
    """What was found."""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Of the change, the surest first; they add up to it."""
        return self.comparison.causes

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain data for JSON, `schema_version` first."""
        return self.comparison.to_dict()

    def __repr__(self) -> str:
        """As on a terminal."""
        return as_text(self.comparison)


# Sentences about a comparison, for the terminal and for Markdown.

UNEVEN = (
    "steps that are far longer or shorter than the middle one: the causes above "
    "count them, the median does not"
)
TOTAL = "total, median step time"
_SHOWN = 12
_WORTH_A_LINE = 0.005
_TIMES = 4.0
"""From this factor on a change is said as one, and not in per cent."""
_OVERLAP = {
    "collective": "other work hides {} of the collectives",
    "transfer": "other work hides {} of the copies",
}


def signed(milliseconds: float) -> str:
    """`+1.25 ms`, `−310 µs`."""
    return f"{'−' if milliseconds < 0 else '+'}{duration(abs(milliseconds))}"


def head_words(head: Head) -> str:
    """`40 steps, median 2.02 ms ± 24 µs`."""
    error = f" ± {duration(head.error_ms)}" if head.error_ms is not None else ""
    steps = f"{head.steps} steps" if head.steps != 1 else "1 step"
    return f"{steps}, median {duration(head.median_ms)}{error}"


def verdict_words(comparison: Comparison) -> str:
    """`The step takes 410 µs (+18%) more: compute +401 µs, launch +10 µs.`"""
    change = comparison.median_change_ms
    if comparison.refused:
        return (
            f"These runs are not comparable: {one_line('; '.join(comparison.refused))}."
        )
    if comparison.same:
        return "Both are the same trace."
    if abs(comparison.median_change_fraction) < 0.0005:
        return (
            f"The step takes as long as before: {duration(comparison.new.median_ms)}."
        )
    parts = [
        f"{one.name} {signed(one.change_ms)}"
        for one in sorted(comparison.classes, key=lambda one: -abs(one.change_ms))
        if abs(one.change_ms) >= 0.05 * abs(change)
    ]
    factor, more = (
        comparison.new.median_ms / comparison.base.median_ms,
        "more" if change > 0 else "less",
    )
    if factor >= _TIMES:
        return (
            f"The step takes {factor:.0f} times as long, {signed(change)}: "
            f"{', '.join(parts[:4])}."
        )
    share = percent(abs(comparison.median_change_fraction))
    return (
        f"The step takes {duration(abs(change))} ({share}) {more}: "
        f"{', '.join(parts[:4])}."
    )


def shown_causes(comparison: Comparison) -> list[Cause]:
    """The causes worth a line; none of runs of other kinds."""
    if comparison.refused:
        return []
    enough = _WORTH_A_LINE * comparison.base.mean_ms
    shown = [
        cause for cause in comparison.causes[:_SHOWN] if abs(cause.change_ms) >= enough
    ]
    return shown or list(comparison.causes[:1])


def cause_rows(
    comparison: Comparison, name_in: Callable[[str], str] = one_line
) -> list[tuple[float, str, str]]:
    """(ms, class, words) of each cause worth a line, then what is left of the change of
    the median step, without a class; none of runs of other kinds. name_in: how a name
    from a trace is written.
    """
    shown = shown_causes(comparison)
    rows = [
        (cause.change_ms, cause.class_name, cause_words(cause, name_in))
        for cause in shown
    ]
    if comparison.refused:
        return rows
    others, uneven = (
        comparison.change_ms - sum(cause.change_ms for cause in shown),
        -comparison.uneven_ms,
    )
    if abs(uneven) < _WORTH_A_LINE * comparison.base.mean_ms:
        others, uneven = others + uneven, 0.0
    left = [(others, "", "everything else"), (uneven, "", UNEVEN)]
    return rows + [
        one for one in left if abs(one[0]) > 1e-3 * abs(comparison.change_ms)
    ]


def cause_words(cause: Cause, name_in: Callable[[str], str] = one_line) -> str:
    """What a cause is, without its class and number. name_in: how a name from a trace
    is written.
    """
    if cause.kind == "class":
        return f"{_span(cause.base_ms, cause.new_ms)} per step in which no device works"
    if cause.kind == "overlap":
        return (
            "overlap: "
            f"{_OVERLAP[cause.class_name].format('less' if cause.change_ms > 0 else 'more')}"
        )
    if cause.kind == "unchanged ops":
        return (
            "ops whose work did not change, all together: probably the machine, not "
            "the program"
        )
    op = cause.op
    if op is None:
        return "all other ops together"
    name = name_in(short_kernel(op.name))
    what = f"{op.number} ops like {name}" if op.number > 1 else name
    if op.status != "changed":
        times = duration((cause.new_ms if op.status == "new" else cause.base_ms) or 0.0)
        count = op.new_count if op.status == "new" else op.base_count
        words = f"{what}: {op.status}, {times} per step, {_times(count)}"
    else:
        renamed = (
            f" (was {name_in(short_kernel(op.before))}, matched by {op.by})"
            if op.before
            else ""
        )
        words = f"{what}{renamed}: {_span(cause.base_ms, cause.new_ms)} per step"
        if abs(op.new_count - op.base_count) > 0.01 * max(op.new_count, op.base_count):
            words += f", {_times(op.base_count)} → {_times(op.new_count)}"
    place = name_in(f"{op.file}:{op.line}" if op.line else op.file) if op.file else ""
    return f"{words}, {place}" if place else words


def finding_words(change: FindingChange) -> str:
    """`new finding: …` or `no longer found: …`."""
    place = f" ({one_line(change.place)})" if change.place else ""
    return (
        f"{'new finding' if change.appeared else 'no longer found'}: "
        f"{one_line(change.title)}{place}"
    )


def speed_words(comparison: Comparison) -> str:
    """About the machine's speed; empty when it is the same, or not known."""
    speed = comparison.speed
    if speed is None or abs(speed.factor - 1) < 0.03:
        return ""
    more = "longer" if speed.factor > 1 else "less time"
    return (
        f"{speed.ops} ops whose work did not change take "
        f"{percent(abs(speed.factor - 1))} {more} throughout: that much may be "
        "the machine, not the program."
    )


def beside_words(comparison: Comparison) -> list[str]:
    """What speaks for the causes that are shown: findings, the machine's speed."""
    if comparison.refused:
        return []
    beside = [finding_words(one) for one in comparison.findings]
    beside += [words] if (words := speed_words(comparison)) else []
    return list(dict.fromkeys(beside))


def _times(count: float) -> str:
    rounded = round(count, 2)
    return counted(f"{rounded:g}", "time", "times")


def _span(before: float | None, after: float | None) -> str:
    return f"{duration(before or 0.0)} → {duration(after or 0.0)}"
