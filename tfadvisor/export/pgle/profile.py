"""Trace files to one profile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from tfadvisor.export.pgle.aggregate import aggregate
from tfadvisor.export.pgle.costs import Costs, Counting, costs
from tfadvisor.export.pgle.events import SELECTION, named_events
from tfadvisor.export.pgle.fingerprints import fingerprints
from tfadvisor.export.pgle.fitness import Facts, facts
from tfadvisor.flags.versions import order
from tfadvisor.timeline.names.frameworks import UNKNOWN, framework_of
from tfadvisor.timeline.names.stats import HLO_MODULE, JAX_VERSION
from tfadvisor.xplane.columns import HostTrace
from tfadvisor.xplane.decode import decode_file

_FIRST_WITH_SPANS = "0.12"
"""The jaxlib that counts spans; 0.11.2 still counts events."""


class Profile(msgspec.Struct, frozen=True):
    """costs: of all files together. facts: of each. framework: of the first file that tells, as reports name it.

    jax_version: that recorded the first file that says so, else None.
    """

    costs: Costs
    facts: tuple[Facts, ...]
    framework: str
    jax_version: str | None


def profile(files: Sequence[Path], percentile: int, jaxlib: str | None, *, by_program: bool) -> Profile:
    """One file after the other, each a profile; then the percentile of each instruction's costs.

    jaxlib: whose way of counting, None for that of the version that recorded, else the newest. by_program: with the
    fingerprints that XLA's own converter misses. Raises TraceError for a file that cannot be read.
    """
    found: list[tuple[Costs, Facts]] = []
    version, framework = None, UNKNOWN
    for file in files:
        trace = decode_file(file, SELECTION)
        recorded_by = _jax_version(trace)
        version = version or recorded_by
        framework = framework_of(trace.names.name, trace.stat(HLO_MODULE).texts) if framework == UNKNOWN else framework
        found.append(_of_trace(trace, counting_of(jaxlib or recorded_by), by_program))
    merged = aggregate([one for one, _ in found], percentile) if len(found) > 1 else found[0][0]
    return Profile(merged, tuple(one for _, one in found), framework, version)


def counting_of(jaxlib: str | None) -> Counting:
    """What a version counts; None for the newest."""
    known = order(jaxlib) if jaxlib is not None else None
    return Counting.EVENT if known is not None and known < (order(_FIRST_WITH_SPANS) or ()) else Counting.SPAN


def _of_trace(trace: HostTrace, counting: Counting, by_program: bool) -> tuple[Costs, Facts]:
    events = named_events(trace)
    every = fingerprints(trace, of_modules=True)
    used = every if by_program else fingerprints(trace, of_modules=False)
    return costs(events, used, counting), facts(trace, events, every)


def _jax_version(trace: HostTrace) -> str | None:
    found = (plane.stats.get(JAX_VERSION) for plane in trace.planes)
    return next((one for one in found if isinstance(one, str)), None)
