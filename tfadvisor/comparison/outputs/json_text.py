"""A comparison as JSON."""

from __future__ import annotations

import json

from tfadvisor.comparison.result import Comparison


def as_json(comparison: Comparison) -> str:
    """Two-space indented, ASCII only; never NaN or Infinity."""
    return json.dumps(comparison.to_dict(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
