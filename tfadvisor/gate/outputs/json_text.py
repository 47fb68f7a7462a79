"""The verdict as JSON."""

from __future__ import annotations

import json

from tfadvisor.gate.judging.result import Verdict


def as_json(verdict: Verdict) -> str:
    """Two-space indented, ASCII only; never NaN or Infinity."""
    return json.dumps(verdict.to_dict(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
