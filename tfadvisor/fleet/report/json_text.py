"""The report as JSON."""

from __future__ import annotations

import json

import msgspec

from tfadvisor.fleet.report.costs import Fleet

SCHEMA_VERSION = "1"


def as_json(fleet: Fleet) -> str:
    """`schema_version` first; times as ISO 8601."""
    return (
        json.dumps({"schema_version": SCHEMA_VERSION, **msgspec.to_builtins(fleet)}, indent=2, allow_nan=False) + "\n"
    )
