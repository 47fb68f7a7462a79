"""Drawn steps as few bytes: columns of small numbers, packed. The page unpacks them in
web/src/data/packed_steps.ts.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from tfadvisor.arrays import Int64Array
from tfadvisor.report.forms.page_data import Column, DrawnStep

_RISING = ("lane", "depth", "start", "launch")
"""Columns of which each value is written as its difference from the one before."""


def packed_steps(steps: Sequence[DrawnStep]) -> str:
    """base64 of gzip of a length, as JSON what is no column, and the columns; "" of no
    steps. The names are those of all steps together.
    """
    if not steps:
        return ""
    place: dict[str, int] = {}
    columns = []
    heads = []
    for step in steps:
        names = [place.setdefault(name, len(place)) for name in step.names]
        heads.append(_head(step))
        columns += _columns(step, np.array([*names, -1], np.int64))
    head = {"names": list(place), "steps": heads}
    text = json.dumps(head, separators=(",", ":")).encode("ascii")
    content = b"".join((len(text).to_bytes(4, "little"), text, *map(_bytes, columns)))
    packed = gzip.compress(content, compresslevel=9, mtime=0)
    return base64.b64encode(packed).decode("ascii")


def _head(step: DrawnStep) -> dict[str, Any]:
    """rows, blocks: how many there are."""
    found: dict[str, Any] = {}
    for name in step.__struct_fields__:
        value = getattr(step, name)
        if name != "names" and not isinstance(value, np.ndarray):
            found[name] = msgspec.to_builtins(value)
    found["rows"] = len(step.start)
    found["blocks"] = int((step.events > 1).sum())
    return found


def _columns(step: DrawnStep, names: Column) -> list[Column]:
    """names: of each of the step's its place among all, with -1 for none at the end."""
    rising = [np.diff(getattr(step, name), prepend=0) for name in _RISING]
    blocks = np.flatnonzero(step.events > 1)
    return [
        *rising,
        step.length,
        step.kind,
        names[step.name],
        np.diff(blocks, prepend=0),
        step.events[blocks],
        step.busy[blocks],
    ]


def _bytes(values: Int64Array) -> bytes:
    """Seven bits a byte, the lowest first, the eighth where more follow. Signs
    alternate: 0, -1, 1, -2, as 0, 1, 2, 3.
    """
    signed = values.astype(np.int64)
    left = ((signed << 1) ^ (signed >> 63)).astype(np.uint64)
    size = np.ones(len(left), np.int64)
    for limit in range(7, 64, 7):
        size += left >= np.uint64(1 << limit)
    end = np.cumsum(size)
    found = np.zeros(int(size.sum()), np.uint8)
    for place in range(int(size.max(initial=0))):
        at = np.flatnonzero(size > place)
        bits = (left[at] >> np.uint64(7 * place)) & np.uint64(127)
        more = np.where(size[at] > place + 1, 128, 0)
        found[(end - size)[at] + place] = bits.astype(np.uint8) | more.astype(np.uint8)
    return found.tobytes()
