"""A comparison for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

import msgspec
from msgspec.structs import replace

from tfadvisor.comparison.result import Cause, ClassChange, Comparison, FindingChange, MetricChange
from tfadvisor.comparison.wording import (
    TOTAL,
    beside_words,
    cause_words,
    finding_words,
    head_words,
    metric_words,
    shown_causes,
    signed,
    speed_words,
    verdict_words,
)
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.frames import frame_of
from tfadvisor.html_fragments import fragment, table, text
from tfadvisor.printable import in_code, in_markdown, one_line, plain
from tfadvisor.report.forms.forms import Form
from tfadvisor.report.forms.page_data import CauseRow, ComparedRuns
from tfadvisor.report.forms.terminal import DIM, PLAIN, TITLE, Piece, Screen, TextPage, screen_of

if TYPE_CHECKING:
    import pandas as pd

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
    if not comparison.refused:
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


# A comparison as Markdown, for pull requests and job summaries.


def as_markdown(comparison: Comparison) -> str:
    """GitHub-flavoured; everything from the traces is escaped."""
    lines = [
        f"## {in_markdown(verdict_words(comparison))}",
        "",
        f"- base {in_code(comparison.base.name)}: {in_markdown(head_words(comparison.base))}",
        f"- new {in_code(comparison.new.name)}: {in_markdown(head_words(comparison.new))}",
        "",
        *([] if comparison.refused else causes_table(comparison)),
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


# A comparison as the page shows it: its causes in words.


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


# The forms of a comparison.


COMPARISON_FORMS = (
    Form("text", (".txt",), "tfadvisor.comparison.forms:as_text", on_screen=True),
    Form("json", (".json",), "tfadvisor.report.forms.html:as_json"),
    Form("markdown", (".md", ".markdown"), "tfadvisor.comparison.forms:as_markdown"),
    Form("html", (".html", ".htm"), "tfadvisor.report.forms.html:as_html", drawn=True),
)

# A comparison in a notebook's cell, and its tables as pandas frames.


TABLES: Mapping[str, type[msgspec.Struct]] = {
    "causes": Cause,
    "classes": ClassChange,
    "metrics": MetricChange,
    "findings": FindingChange,
}


class ShownComparison(Comparison, frozen=True):
    """A comparison that a notebook shows."""

    def to_dataframe(self, table: str = "causes") -> pd.DataFrame:
        """A pandas frame of the causes, or of "classes", "metrics" or "findings".

        Raises UsageError for another table, and where pandas cannot be loaded.
        """
        return frame(self, table)

    def __repr__(self) -> str:
        """One line: both runs, and the change."""
        return as_line(self)

    def _repr_html_(self) -> str:
        """For a notebook's cell."""
        return as_fragment(self)


def shown(comparison: Comparison) -> ShownComparison:
    """The same comparison, for whoever calls Python."""
    return ShownComparison(**msgspec.structs.asdict(comparison))


def as_fragment(comparison: Comparison) -> str:
    """HTML that needs nothing else. All that comes from the traces is escaped."""
    causes, left = shown_causes(comparison)
    rows: list[Sequence[str]] = [(signed(one.change_ms), one.class_name, cause_words(one)) for one in causes]
    rows += [(signed(milliseconds), "", words) for milliseconds, words in left]
    rows += [] if comparison.refused else [(signed(comparison.median_change_ms), "", TOTAL)]
    sides = (("base", comparison.base), ("new", comparison.new))
    return fragment(
        [
            f"<h4>{text(verdict_words(comparison))}</h4>",
            *(f'<p class="quiet">{name}: {text(head.name)}, {text(head_words(head))}</p>' for name, head in sides),
            *([table(("change", "class", "cause"), rows)] if rows else []),
            *(f"<p>{text(one)}</p>" for one in beside_words(comparison, causes)),
            *(f'<p class="quiet">differs: {text(one)}</p>' for one in comparison.differences),
        ]
    )


def as_line(comparison: Comparison) -> str:
    """`<tfadvisor.Comparison of before and after: The step takes 410 µs (+18%) more: …>`."""
    base, new = one_line(comparison.base.name), one_line(comparison.new.name)
    return f"<tfadvisor.Comparison of {base} and {new}: {verdict_words(comparison)}>"


def frame(comparison: Comparison, name: str) -> pd.DataFrame:
    """One of `TABLES`, with the op of a cause by its name. Raises UsageError for another, and without pandas."""
    if name not in TABLES:
        raise UsageError(f"a comparison has no table {name}.{did_you_mean(name, TABLES)} It has: {', '.join(TABLES)}.")
    rows = [plain(one) for one in getattr(comparison, name)]
    for row in rows:
        if row.get("op"):
            row["op"] = row["op"]["name"]
    return frame_of(rows, TABLES[name].__struct_encode_fields__)
