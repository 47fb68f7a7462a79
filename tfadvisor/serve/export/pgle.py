"""The profile for XLA's latency-hiding scheduler: costs of instructions from trace
files, and whether they fit it.
"""

from __future__ import annotations

import shlex
import struct
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.advice.flags.acceptance import accepts
from tfadvisor.advice.flags.recorded import order
from tfadvisor.serve.export.perfetto_packets import sized, tag
from tfadvisor.serve.export.pgle_events import (
    SELECTION,
    Facts,
    NamedEvents,
    facts,
    named_events,
)
from tfadvisor.tallies import listed
from tfadvisor.timeline.names.classes import UNKNOWN, framework_of
from tfadvisor.timeline.names.stats import HLO_MODULE, JAX_VERSION
from tfadvisor.trace import decode_file
from tfadvisor.trace.bounds import FIXED_64
from tfadvisor.trace.columns import HostTrace

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfadvisor.arrays import Int64Array


_PERCENTILE = 90
_FIRST_WITH_SPANS = "0.12"
"""The jaxlib that counts spans; 0.11.2 still counts events."""


class Profile(msgspec.Struct, frozen=True):
    """costs: of all files together. facts: of each. framework: of the first file that
    tells, as reports name it.

    jax_version: that recorded the first file that says so, else None.
    """

    costs: Costs
    facts: tuple[Facts, ...]
    framework: str
    jax_version: str | None


def profile(files: Sequence[Path]) -> Profile:
    """One file after the other, each a profile; then the 90th percentile of each
    instruction's costs, as JAX does it.

    Counted as the jaxlib does that recorded, else the newest. Raises TraceError for a
    file that cannot be read.
    """
    found: list[Costs] = []
    told: list[Facts] = []
    version = None
    framework = UNKNOWN
    for file in files:
        trace = decode_file(file, SELECTION)
        recorded_by = _jax_version(trace)
        version = version or recorded_by
        if framework == UNKNOWN:
            framework = framework_of(trace.names.name, trace.stat(HLO_MODULE).texts)
        events = named_events(trace)
        found.append(costs(events, counting_of(recorded_by)))
        told.append(facts(trace))
    return Profile(
        aggregate(found) if len(found) > 1 else found[0],
        tuple(told),
        framework,
        version,
    )


def counting_of(jaxlib: str | None) -> Counting:
    """What a version counts; None for the newest."""
    known = order(jaxlib) if jaxlib is not None else None
    if known is not None and known < (order(_FIRST_WITH_SPANS) or ()):
        return Counting.EVENT
    return Counting.SPAN


def _jax_version(trace: HostTrace) -> str | None:
    found = (plane.stats.get(JAX_VERSION) for plane in trace.planes)
    return next((version for version in found if isinstance(version, str)), None)


# The file that XLA reads: a ProfiledInstructionsProto.

_COSTS, _NAME, _COST_US = 1, 1, 2


def as_binary(costs: Costs) -> bytes:
    """One InstructionCost a name. No latencies between instructions: XLA's own
    converter writes none either.
    """
    return b"".join(
        sized(
            _COSTS,
            sized(_NAME, name.encode())
            + tag(_COST_US, FIXED_64)
            + struct.pack("<d", cost.us),
        )
        for name, cost in costs.items()
    )


# One profile out of several: of each instruction's costs the one at a percentile.


def aggregate(profiles: Sequence[Costs]) -> Costs:
    """The cost at 90% of the way through those that there are, rounded down; never a
    mean of two. An instruction that some profiles lack is taken from the others.
    """
    found = listed(item for profile in profiles for item in profile.items())
    return {
        name: InstructionCost(
            sorted(cost.us for cost in costs)[
                int(_PERCENTILE / 100 * (len(costs) - 1))
            ],
            sum(cost.executions for cost in costs),
        )
        for name, costs in sorted(found.items())
    }


# What each instruction cost in one trace, in columns, as XLA's own converter counts it.

_PS_PER_US = 1e6


class Counting(Enum):
    """What one execution of an instruction is."""

    EVENT = "event"
    """Each event; so an instruction of several kernels costs as much as their mean.
    jaxlib up to 0.11.
    """
    SPAN = "span"
    """From the start of the first to the end of the last event of one scope range, or
    of one start where events carry none; so it costs what all its kernels take. jaxlib
    from 0.12 on."""


class InstructionCost(msgspec.Struct, frozen=True):
    """An instruction's mean time, and over how many executions."""

    us: float
    executions: int


Costs = Mapping[str, InstructionCost]
"""By the instruction's name, whichever program has it."""


def costs(found: NamedEvents, counting: Counting) -> Costs:
    """The cost of each name, sorted by name."""
    names = found.ops
    which = found.op
    if counting is Counting.EVENT:
        # Two divisions, as XLA's: the last bit of one by a million differs. A negative
        # duration is a huge one there.
        us = found.duration_ps.view(np.uint64).astype(np.float64) / 1e3 / 1e3
    else:
        which, us = _spans(found, which)
    executions = np.bincount(which, minlength=len(names))
    mean = np.bincount(which, us, len(names)) / np.maximum(
        executions, 1
    )  # adds up in the file's order, as XLA does
    by_name = sorted(zip(names, mean.tolist(), executions.tolist(), strict=True))
    return {name: InstructionCost(us, number) for name, us, number in by_name if number}


def _spans(
    found: NamedEvents,
    which: Int64Array,
) -> tuple[Int64Array, npt.NDArray[np.float64]]:
    """(name, µs) of each span: events sorted by name and instance, cut where either
    changes.
    """
    order = np.lexsort((found.instance, which))
    name = which[order]
    instance = found.instance[order]
    starts = np.flatnonzero(
        np.append(True, (name[1:] != name[:-1]) | (instance[1:] != instance[:-1]))
    )
    if not len(order):
        return which, np.empty(0)
    first = np.minimum.reduceat(found.start_ps[order], starts)
    last = np.maximum.reduceat((found.start_ps + found.duration_ps)[order], starts)
    return name[starts], (last - first) / _PS_PER_US


# How to compile with the profile.

_SCHEDULER = "--xla_gpu_enable_latency_hiding_scheduler=true"
_FILE = "--xla_gpu_pgle_profile_file_or_directory_path"


def launch_line(
    file: Path,
    framework: str,
    version: str | None,
) -> tuple[str, list[str]]:
    """(what to put before a command, "" where the version knows no such thing; notes on
    why, and by what).

    framework: as reports name it; of TensorFlow the flags are those of its own XLA.
    version: None for the newest known.
    """
    library = "tensorflow" if framework == "tensorflow" else "jaxlib"
    answers = [
        accepts(flag, version, library)
        for flag in (_SCHEDULER, f"{_FILE}={file.absolute()}")
    ]
    refused = [answer for answer in answers if answer.accepted is False]
    if refused:
        return "", [f"the profile cannot be used: {refused[0].note}"]
    known = [
        f"--{answer.name}={answer.value}" for answer in answers if not answer.is_default
    ]
    return f"XLA_FLAGS={shlex.quote(' '.join(known))}", [
        answer.note for answer in answers[1:] if answer.note
    ]
