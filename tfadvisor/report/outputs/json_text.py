"""JSON text: the stable machine output of the contract, for a report, a comparison or a gate's result."""

from __future__ import annotations

import json
from typing import Any, Protocol


class _Plain(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


def as_json(one: _Plain) -> str:
    """Two-space indented, ASCII only so that no terminal is disturbed; never NaN or Infinity."""
    return json.dumps(one.to_dict(), indent=2, ensure_ascii=True, allow_nan=False) + "\n"
