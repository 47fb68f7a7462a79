"""The host's memory while the trace was recorded."""

from __future__ import annotations

from tfadvisor.metrics.machine.counted import ends, known_counters, per_step, smallest
from tfadvisor.metrics.needs import known_steps
from tfadvisor.metrics.registry import Question, metric
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, Scatter


@metric(unit=Unit.FRACTION, needs=(known_counters,), better=Better.MORE)
def available_memory_fraction(question: Question) -> float:
    """Share of the machine's memory that its programs could still get, at the end of the recording where it was less; of
    the host where it is least.
    """
    return smallest(
        question,
        lambda one: (
            min(told) / whole
            if (whole := one.settings.memory_bytes)
            and len(told := [end.available_bytes for end in ends(one) if end.available_bytes is not None]) == 2
            else None
        ),
    )


@metric(unit=Unit.BYTES, needs=(known_counters, known_steps), better=Better.LESS, scatter=Scatter.FACTOR)
def swapped_bytes_per_step(question: Question) -> float:
    """Bytes that the machine moved between memory and swap in a step of median length; of the worst host."""
    return per_step(question, "swapped_bytes")


@metric(unit=Unit.COUNT, needs=(known_counters, known_steps), better=Better.LESS, scatter=Scatter.FACTOR)
def major_faults_per_step(question: Question) -> float:
    """How often in a step of median length the recorded process needed a page that had to come from storage: swapped out, or
    of a file that is mapped into memory; of the worst host.
    """
    return per_step(question, "major_faults")
