"""Records as plain data: dicts, lists, numbers and texts, as they stand in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """A record and all that it holds as JSON has it: enums by value. Raises TypeError for anything else."""
    return msgspec.to_builtins(value, enc_hook=_unknown)


def _unknown(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item"):  # a number of NumPy's
        return value.item()
    raise TypeError(f"{type(value).__name__} is not plain data")
