"""Counters of a machine on paper: a window of ten seconds, beside steps of 100 µs on
one GPU.
"""

from __future__ import annotations

from typing import Any

import msgspec

from support.trace_builder import trace
from tfadvisor.metrics.registry import Metrics, measure
from tfadvisor.trace.counters import (
    Counted,
    CounterReading,
    HostCounters,
    MachineGpu,
    MachineSettings,
)

SECONDS = 10.0


def grew(
    settings: dict[str, Any] | None = None, *gpus: MachineGpu, **by: float
) -> HostCounters:
    """A host whose counters began at 1,000 and grew by so much. What is not given was
    not told.
    """
    began = dict.fromkeys(by, 1_000.0)
    ended = {name: 1_000.0 + more for name, more in by.items()}
    told = MachineSettings(**(settings or {}))
    return HostCounters(
        "host",
        Counted(
            1,
            CounterReading(50.0, **began),
            CounterReading(50.0 + SECONDS, **ended),
            told,
            gpus,
        ),
    )


def ended_with(
    settings: dict[str, Any], opened: dict[str, float], closed: dict[str, float]
) -> HostCounters:
    """A host whose counters are not sums, as free memory."""
    return HostCounters(
        "host",
        Counted(
            1,
            CounterReading(50.0, **opened),
            CounterReading(60.0, **closed),
            MachineSettings(**settings),
        ),
    )


def measured(*hosts: HostCounters, period: float = 100.0) -> Metrics:
    """All metrics of a run of six steps, so many µs each, with these counters beside
    it.
    """
    builder = (
        trace()
        .steps(6, period=period)
        .busy("GPU:0", *((at * period, at * period + 40) for at in range(6)))
    )
    return measure(msgspec.structs.replace(builder.build(), counters=hosts))
