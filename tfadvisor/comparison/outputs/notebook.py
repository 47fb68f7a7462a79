"""A comparison in a notebook's cell, and its tables as pandas frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.comparison.result import Cause, ClassChange, Comparison, FindingChange, MetricChange
from tfadvisor.comparison.wording import (
    TOTAL,
    beside_words,
    cause_words,
    head_words,
    shown_causes,
    signed,
    verdict_words,
)
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.frames import frame_of
from tfadvisor.report.fragment import fragment, table, text
from tfadvisor.report.plain import plain
from tfadvisor.report.printable import one_line

if TYPE_CHECKING:
    import pandas as pd

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
    rows.append((signed(comparison.median_change_ms), "", TOTAL))
    sides = (("base", comparison.base), ("new", comparison.new))
    return fragment(
        [
            f"<h4>{text(verdict_words(comparison))}</h4>",
            *(f'<p class="quiet">{name}: {text(head.name)}, {text(head_words(head))}</p>' for name, head in sides),
            table(("change", "class", "cause"), rows),
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
