"""Every form of a comparison: terminal, Markdown, page."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from tfadvisor.comparison.change import (
    ChangeCause,
    Comparison,
    FindingChange,
    Head,
    OpChange,
)
from tfadvisor.printable import in_code, in_markdown, one_line, short_kernel
from tfadvisor.report.forms import Form
from tfadvisor.text_page import DIM, PLAIN, TITLE, Piece, Screen, TextPage
from tfadvisor.units import counted, duration, percent

if TYPE_CHECKING:
    from tfadvisor.report import ComparedRuns


_MARGIN = 2
_COLUMN = 12


def as_text(
    comparison: Comparison,
    *,
    screen: Screen = PLAIN,
) -> str:
    """The comparison as text."""
    page = TextPage(screen)
    for label, head in (("base", comparison.base), ("new", comparison.new)):
        words = f"{one_line(head.name)}: {head_words(head)}"
        _beside(page, (label, DIM), words)
    for difference in _other_differences(comparison):
        _beside(page, ("differs", "yellow"), one_line(difference))

    page.line()
    page.line((verdict_words(comparison), TITLE))
    page.line()
    if not comparison.refused:
        causes(page, comparison)
    return page.text()


def _other_differences(comparison: Comparison) -> list[str]:
    """Those for which the runs may be compared all the same."""
    found = comparison.differences
    return [difference for difference in found if difference not in comparison.refused]


def _beside(
    page: TextPage,
    label: Piece,
    text: str,
) -> None:
    page.hanging(label, text, _MARGIN + _COLUMN, _MARGIN)


def causes(page: TextPage, comparison: Comparison) -> None:
    """The causes with what speaks for them; they add up to the change."""
    changes = [cause.change_ms for cause in comparison.causes]
    if not comparison.change_ms and not any(changes):
        return

    for milliseconds, class_name, words in cause_rows(comparison):
        label = (signed(milliseconds), _style(milliseconds, class_name))
        named = f"{class_name:<11}{words}" if class_name else words
        _beside(page, label, named)
    _beside(
        page,
        (signed(comparison.median_change_ms), TITLE),
        TOTAL,
    )

    page.line()
    for words in beside_words(comparison):
        _beside(page, ("also", DIM), words)


def _style(milliseconds: float, class_name: str) -> str:
    if not class_name:
        return DIM
    return "bold red" if milliseconds > 0 else "green"


# A comparison as Markdown, for pull requests and job summaries.


def as_markdown(comparison: Comparison) -> str:
    """GitHub-flavoured; everything from the traces is escaped."""
    lines = [f"## {in_markdown(verdict_words(comparison))}", ""]
    for label, head in (("base", comparison.base), ("new", comparison.new)):
        words = in_markdown(head_words(head))
        lines.append(f"- {label} {in_code(head.name)}: {words}")
    for difference in _other_differences(comparison):
        lines.append(f"- differs: {in_markdown(difference)}")

    lines.append("")
    if not comparison.refused:
        lines += causes_table(comparison)
    return "\n".join(lines).rstrip() + "\n"


def _in_cell(name: str) -> str:
    return in_code(name, in_table=True)


def causes_table(comparison: Comparison) -> list[str]:
    """The causes, which add up to the last row, and what speaks for them."""
    lines = ["| change | class | cause |", "|---:|---|---|"]
    for milliseconds, name, words in cause_rows(comparison, _in_cell):
        lines.append(f"| {signed(milliseconds)} | {name} | {words} |")
    lines.append(f"| **{signed(comparison.median_change_ms)}** | | **{TOTAL}** |")
    lines.append("")

    beside = beside_words(comparison)
    if beside:
        lines += [f"- {in_markdown(sentence)}" for sentence in beside]
        lines.append("")
    return lines


# A comparison as the page shows it: its causes in words.


def on_page(
    comparison: Comparison,
    new: int,
    base: int,
) -> ComparedRuns:
    """new, base: places of the runs in the page."""
    # NumPy, which no other form needs
    from tfadvisor.report import CauseRow, ComparedRuns

    rows = [CauseRow(*row) for row in cause_rows(comparison)]
    without_findings = replace(comparison, findings=())  # the page lists them by itself
    return ComparedRuns(
        new=new,
        base=base,
        summary=verdict_words(comparison),
        change_ms=comparison.median_change_ms,
        causes=tuple(rows),
        beside=tuple(beside_words(without_findings)),
        differences=tuple(
            one_line(difference) for difference in comparison.differences
        ),
    )


# The forms of a comparison.

COMPARISON_FORMS = (
    Form(
        "text", (".txt",), "tfadvisor.comparison.change_forms:as_text", on_screen=True
    ),
    Form("json", (".json",), "tfadvisor.report.forms.html:as_json"),
    Form(
        "markdown",
        (".md", ".markdown"),
        "tfadvisor.comparison.change_forms:as_markdown",
    ),
    Form("html", (".html", ".htm"), "tfadvisor.report.forms.html:as_html", drawn=True),
)

# A comparison for whoever calls Python.


class ShownComparison(msgspec.Struct, frozen=True):
    """A comparison that shows itself as text."""

    comparison: Comparison
    """What was found."""

    @property
    def causes(self) -> tuple[ChangeCause, ...]:
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
_CLASSES = 4
"""That are named in the verdict."""
_NO_CHANGE = 0.0005
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
    steps = counted(f"{head.steps}", "step", "steps")
    return f"{steps}, median {duration(head.median_ms)}{error}"


def verdict_words(comparison: Comparison) -> str:
    """`The step takes 410 µs (+18%) more: compute +401 µs, launch +10 µs.`"""
    if comparison.refused:
        why = one_line("; ".join(comparison.refused))
        return f"These runs are not comparable: {why}."
    if comparison.same:
        return "Both are the same trace."

    change = comparison.median_change_ms
    share = abs(comparison.median_change_fraction)
    now = comparison.new.median_ms
    if share < _NO_CHANGE:
        return f"The step takes as long as before: {duration(now)}."

    classes = ", ".join(_largest_changes(comparison))
    factor = now / comparison.base.median_ms
    if factor >= _TIMES:
        times = f"{factor:.0f} times as long"
        return f"The step takes {times}, {signed(change)}: {classes}."
    more = "more" if change > 0 else "less"
    by = f"{duration(abs(change))} ({percent(share)})"
    return f"The step takes {by} {more}: {classes}."


def _largest_changes(comparison: Comparison) -> list[str]:
    """`compute +401 µs`: the classes that make most of the change."""
    enough = 0.05 * abs(comparison.median_change_ms)
    ordered = sorted(
        comparison.classes, key=lambda class_change: -abs(class_change.change_ms)
    )
    parts = []
    for change in ordered[:_CLASSES]:
        if abs(change.change_ms) >= enough:
            parts.append(f"{change.name} {signed(change.change_ms)}")
    return parts


def shown_causes(comparison: Comparison) -> list[ChangeCause]:
    """The causes worth a line; none of runs of other kinds."""
    if comparison.refused:
        return []
    enough = _WORTH_A_LINE * comparison.base.mean_ms
    first = comparison.causes[:_SHOWN]
    shown = [cause for cause in first if abs(cause.change_ms) >= enough]
    return shown or list(comparison.causes[:1])


def cause_rows(
    comparison: Comparison,
    name_in: Callable[[str], str] = one_line,
) -> list[tuple[float, str, str]]:
    """(ms, class, words) of each cause worth a line, then what is left of the change of
    the median step, without a class; none of runs of other kinds. name_in: how a name
    from a trace is written.
    """
    if comparison.refused:
        return []

    rows = []
    for cause in shown_causes(comparison):
        words = cause_words(cause, name_in)
        rows.append((cause.change_ms, cause.class_name, words))
    others = comparison.change_ms - sum(row[0] for row in rows)

    uneven = -comparison.uneven_ms
    if abs(uneven) < _WORTH_A_LINE * comparison.base.mean_ms:
        others += uneven
        uneven = 0.0

    for milliseconds, words in ((others, "everything else"), (uneven, UNEVEN)):
        if abs(milliseconds) > 1e-3 * abs(comparison.change_ms):
            rows.append((milliseconds, "", words))
    return rows


def cause_words(
    cause: ChangeCause,
    name_in: Callable[[str], str] = one_line,
) -> str:
    """What a cause is, without its class and number. name_in: how a name from a trace
    is written.
    """
    if cause.op is not None:
        return _op_words(cause, cause.op, name_in)
    if cause.kind == "class":
        span = _span(cause.base_ms, cause.new_ms)
        return f"{span} per step in which no device works"
    if cause.kind == "overlap":
        less = "less" if cause.change_ms > 0 else "more"
        return f"overlap: {_OVERLAP[cause.class_name].format(less)}"
    if cause.kind == "unchanged ops":
        return (
            "ops whose work did not change, all together: probably the machine, not "
            "the program"
        )
    return "all other ops together"


def _op_words(
    cause: ChangeCause,
    op: OpChange,
    name_in: Callable[[str], str],
) -> str:
    what = _what(op, name_in)
    if op.status == "new":
        words = f"{what}: new, {_takes(cause.new_ms, op.new_count)}"
    elif op.status == "gone":
        words = f"{what}: gone, {_takes(cause.base_ms, op.base_count)}"
    else:
        was = _was(op, name_in)
        span = _span(cause.base_ms, cause.new_ms)
        words = f"{what}{was}: {span} per step{_other_count(op)}{_other_shape(op)}"

    place = _place_of(op)
    return f"{words}, {name_in(place)}" if place else words


_WAITS = re.compile(r"-done(?:\.\d+)?$")
"""Ends the name of the op in which a device waits for an asynchronous one."""


def _what(op: OpChange, name_in: Callable[[str], str]) -> str:
    """`fusion.3`, `12 ops like fusion`, `57 ops of jit_step`, `waiting in
    copy-done.3`.
    """
    name = name_in(short_kernel(op.name))
    if op.number > 1:
        like = f"like {name}" if op.name else "of different names"
        words = f"{op.number} ops {like}"
        return f"{words} in {name_in(op.module)}" if op.module else words
    return f"waiting in {name}" if _WAITS.search(op.name) else name


def _other_shape(op: OpChange) -> str:
    """Where its result has another type, size or layout than before."""
    before, after = op.base_shape, op.new_shape
    if not before or not after or before == after:
        return ""
    return f", {one_line(before)} → {one_line(after)}"


def _takes(milliseconds: float | None, number: float) -> str:
    return f"{duration(milliseconds or 0.0)} per step, {_times(number)}"


def _was(
    op: OpChange,
    name_in: Callable[[str], str],
) -> str:
    if not op.before:
        return ""
    return f" (was {name_in(short_kernel(op.before))}, matched by {op.by})"


def _other_count(op: OpChange) -> str:
    """Where an op runs more or less often than before."""
    most = max(op.new_count, op.base_count)
    if abs(op.new_count - op.base_count) <= 0.01 * most:
        return ""
    return f", {_times(op.base_count)} → {_times(op.new_count)}"


def _place_of(op: OpChange) -> str:
    if not op.file:
        return ""
    return f"{op.file}:{op.line}" if op.line else op.file


def finding_words(change: FindingChange) -> str:
    """`new finding: …` or `no longer found: …`."""
    what = "new finding" if change.appeared else "no longer found"
    place = f" ({one_line(change.place)})" if change.place else ""
    return f"{what}: {one_line(change.title)}{place}"


def speed_words(comparison: Comparison) -> str:
    """About the machine's speed; empty when it is the same, or not known."""
    speed = comparison.speed
    if speed is None or abs(speed.factor - 1) < 0.03:
        return ""
    more = "longer" if speed.factor > 1 else "less time"
    share = percent(abs(speed.factor - 1))
    return (
        f"{speed.ops} ops whose work did not change take {share} {more} throughout: "
        "that much may be the machine, not the program."
    )


def beside_words(comparison: Comparison) -> list[str]:
    """What speaks for the causes that are shown: findings, the machine's speed."""
    if comparison.refused:
        return []
    beside = [finding_words(finding) for finding in comparison.findings]
    speed = speed_words(comparison)
    if speed:
        beside.append(speed)
    return list(dict.fromkeys(beside))


def _times(number: float) -> str:
    return counted(f"{round(number, 2):g}", "time", "times")


def _span(
    before: float | None,
    after: float | None,
) -> str:
    return f"{duration(before or 0.0)} → {duration(after or 0.0)}"
