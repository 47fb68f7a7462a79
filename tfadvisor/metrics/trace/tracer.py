"""What recording itself adds to a step."""

from __future__ import annotations

from tfadvisor.metrics.needs import known_steps
from tfadvisor.metrics.registry import Question, metric
from tfadvisor.metrics.steady import counted_hosts, counted_ps
from tfadvisor.units import PS_PER_US, Unit
from tfadvisor.vocabulary import Better

_FRAME_US = 0.2
_EVENT_US = 1.0
"""What recording one takes, fitted on the steps of 62 programs with the profiler and without."""


@metric(unit=Unit.FRACTION, needs=(known_steps,), better=Better.LESS)
def tracer_fraction(question: Question) -> float:
    """Share of step time that recording the driving thread takes, estimated from what was recorded of it: 0.2 µs for a
    Python frame and 1 µs for any other event.
    """
    hosts = counted_hosts(question.run)
    spent = sum(_FRAME_US * one.capture.events.frames + _EVENT_US * one.capture.events.others for one in hosts)
    return min(spent * PS_PER_US / max(sum(map(counted_ps, hosts)), 1), 1.0)
