"""Reads and writes while the trace was recorded."""

from __future__ import annotations

from tfadvisor.machine.file import Counted
from tfadvisor.metrics.machine.counted import a_second, grown, known_counters, largest, of_hosts
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_BYTES = 1e9


@metric(unit=Unit.GB_S, needs=(known_counters,), better=Better.NEITHER)
def storage_read_gb_s(question: Question) -> float:
    """GB that the recorded process read from storage per second; what the system still had in memory is not in it. Of the
    host where it is most.
    """
    return largest(question, lambda one: _rate(one, "read_bytes"))


@metric(unit=Unit.GB_S, needs=(known_counters,), better=Better.NEITHER)
def storage_write_gb_s(question: Question) -> float:
    """GB that the recorded process wrote to storage per second; of the host where it is most."""
    return largest(question, lambda one: _rate(one, "written_bytes"))


@metric(unit=Unit.FRACTION, needs=(known_counters,), better=Better.LESS)
def storage_wait_fraction(question: Question) -> float:
    """Share of the recording, taken as one core, in which a core of the machine had nothing to run but waited for storage: 1
    is one core that waits all the time, or several in turns. Of the worst host, and at most 1.
    """
    return largest(question, _waits)


@fact(needs=(known_counters,))
def data_file_systems(question: Question) -> str:
    """Kinds of file systems on which the recorded processes had files open that belong to no installed package."""
    found = sorted({kind for one in of_hosts(question) for kind in one.settings.file_systems})
    if not found:
        raise MetricAbsent("no such file was open when the recording ended")
    return ", ".join(found)


def _rate(one: Counted, name: str) -> float | None:
    value = a_second(one, name)
    return None if value is None else value / _BYTES


def _waits(one: Counted) -> float | None:
    waited = grown(one, "iowait_seconds")
    return None if waited is None else min(waited / one.seconds, 1.0)
