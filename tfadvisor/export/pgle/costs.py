"""What each instruction cost in one trace, in columns, as XLA's own converter counts it.

Source: `ConvertXplaneToProfiledInstructionsProto` in openxla/xla, xla/python/xplane_to_profile_instructions.cc, which jaxlib
calls `get_fdo_profile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.arrays import ranks
from tfadvisor.export.pgle.events import NamedEvents

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfadvisor.export.pgle.fingerprints import Program
    from tfadvisor.xplane.columns import Int64Array

_SEPARATOR = "::"
_PS_PER_US = 1e6


class Counting(Enum):
    """What one execution of an instruction is."""

    EVENT = "event"
    """Each event; so an instruction of several kernels costs as much as their mean. jaxlib up to 0.11."""
    SPAN = "span"
    """From the start of the first to the end of the last event of one scope range, or of one start where events carry
    none; so it costs what all its kernels take. jaxlib from 0.12 on."""


class Cost(msgspec.Struct, frozen=True):
    """An instruction's mean time, and over how many executions."""

    us: float
    executions: int


Costs = Mapping[str, Cost]
"""By the instruction's name, `FINGERPRINT::name` where its program's fingerprint is known."""


def costs(found: NamedEvents, fingerprints: Mapping[Program, str], counting: Counting) -> Costs:
    """The cost of each name, sorted by name."""
    names, which = _profile_names(found, fingerprints)
    if counting is Counting.EVENT:
        # Two divisions, as XLA's: the last bit of one by a million differs. A negative duration is a huge one there.
        us = found.duration_ps.view(np.uint64).astype(np.float64) / 1e3 / 1e3
    else:
        which, us = _spans(found, which)
    executions = np.bincount(which, minlength=len(names))
    mean = np.bincount(which, us, len(names)) / np.maximum(executions, 1)  # adds up in the file's order, as XLA does
    by_name = sorted(zip(names, mean.tolist(), executions.tolist(), strict=True))
    return {name: Cost(us, number) for name, us, number in by_name}


def _profile_names(found: NamedEvents, fingerprints: Mapping[Program, str]) -> tuple[list[str], Int64Array]:
    """The distinct names, and which of them each event has: op and program are looked up once a pair of both."""
    pair = ranks(found.op * (len(found.programs) + 1) + found.program)
    count = int(pair.max(initial=-1)) + 1
    one = np.zeros(count, np.int64)
    one[pair] = np.arange(len(pair))
    place: dict[str, int] = {}
    name_of_pair = np.empty(count, np.int64)
    for at, event in enumerate(one.tolist()):
        name = found.ops[int(found.op[event])]
        fingerprint = fingerprints.get(found.programs[int(found.program[event])], "")
        written = f"{fingerprint}{_SEPARATOR}{name}" if fingerprint else name
        name_of_pair[at] = place.setdefault(written, len(place))
    return list(place), name_of_pair[pair]


def _spans(found: NamedEvents, which: Int64Array) -> tuple[Int64Array, npt.NDArray[np.float64]]:
    """(name, µs) of each span: events sorted by name and instance, cut where either changes."""
    order = np.lexsort((found.instance, which))
    name, instance = which[order], found.instance[order]
    starts = np.flatnonzero(np.append(True, (name[1:] != name[:-1]) | (instance[1:] != instance[:-1])))
    if not len(order):
        return which, np.empty(0)
    first = np.minimum.reduceat(found.start_ps[order], starts)
    last = np.maximum.reduceat((found.start_ps + found.duration_ps)[order], starts)
    return name[starts], (last - first) / _PS_PER_US
