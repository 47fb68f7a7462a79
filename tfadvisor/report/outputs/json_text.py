"""The report as JSON: the stable machine output of the contract."""

from __future__ import annotations

import json

from tfadvisor.report.model import Report


def as_json(report: Report) -> str:
    """Two-space indented, ASCII only so that no terminal is disturbed; never NaN or Infinity."""
    return json.dumps(report.to_dict(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
