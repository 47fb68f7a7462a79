"""By what a later report of the same program is known: hashes of its ops' names, from which no name can be read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

from tfadvisor.report.model import Report

_MOST = 24
_NUMBERS = re.compile(r"\d+")
_ALIKE = 0.5


def sketch_of(report: Report) -> tuple[int, ...]:
    """Of the hottest ops, the framework and the kinds of devices, in ascending order; empty for a report without ops."""
    names = dict.fromkeys(_NUMBERS.sub("#", f"{one.module or ''}/{one.name}") for one in report.ops)
    kinds = {one.kind for one in report.run.devices}
    said = [*list(names)[:_MOST], *(f"device {one}" for one in kinds)] if names else []
    return tuple(sorted({crc32(f"{report.run.framework} {one}".encode()) for one in said}))


def alike(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two sketches share half of what they hold together."""
    both = set(one) | set(other)
    return bool(one) and len(set(one) & set(other)) >= _ALIKE * len(both)
