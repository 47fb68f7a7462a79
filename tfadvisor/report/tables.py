"""A report's tables as pandas frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.frames import frame_of
from tfadvisor.report.forms.page_data import CollectiveRow, PageData
from tfadvisor.report.model import Op, Report
from tfadvisor.vocabulary import TIME_CLASSES

if TYPE_CHECKING:
    import pandas as pd

_FINDING = ("rule_id", "category", "severity", "title", "saving_low", "saving_high", "file", "line", "do", "summary")
_METRIC = ("name", "value", "unit", "reason", "about")
_STEP = ("index", "name", "host", "start_ms", "duration_ms", *TIME_CLASSES)
Table = tuple[Sequence[str], Callable[[Report, Callable[[], PageData]], Sequence[Mapping[str, Any]]]]


def frame(report: Report, table: str, page: Callable[[], PageData]) -> pd.DataFrame:
    """One of `TABLES`. page: draws the report's page, which collectives alone need.

    Raises UsageError for another table and without pandas, and as page.
    """
    if table not in TABLES:
        raise UsageError(f"a report has no table {table}.{did_you_mean(table, TABLES)} It has: {', '.join(TABLES)}.")
    columns, rows = TABLES[table]
    return frame_of(rows(report, page), columns)


def _findings(report: Report, _page: Callable[[], PageData]) -> list[dict[str, Any]]:
    return [
        {
            "rule_id": one.rule_id,
            "category": one.category,
            "severity": one.severity.value,
            "title": one.title,
            "saving_low": one.saving.low if one.saving else 0.0,
            "saving_high": one.saves,
            "file": one.locations[0].file if one.locations else None,
            "line": one.locations[0].line if one.locations else None,
            "do": one.fixes[0].do if one.fixes else None,
            "summary": one.summary,
        }
        for one in report.findings
    ]


TABLES: Mapping[str, Table] = {
    "findings": (_FINDING, _findings),
    "metrics": (
        _METRIC,
        lambda report, _: [{"name": name, **asdict(one)} for name, one in report.metrics.items()],
    ),
    "steps": (_STEP, lambda report, _: [{**asdict(one), **one.breakdown} for one in report.steps.each]),
    "ops": (Op.__struct_fields__, lambda report, _: [asdict(one) for one in report.ops]),
    "collectives": (CollectiveRow.__struct_fields__, lambda _, page: [asdict(one) for one in page().collectives]),
}
"""By name, the columns and where the rows come from. Shares are of step time, of ops of all device time."""
