"""What the machine did while the trace was recorded: cores, memory, GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable

from tfadvisor.arrays import median
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import known_steps, periods_ms
from tfadvisor.timeline.run import RunSummary
from tfadvisor.trace.counters import Counted, MachineGpu
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, Scatter

# The counters of a run's hosts as metrics ask for them: what they grew by, on the host
# where it was worst.

_NONE = (
    "the recording has no counters of its machine; `tfadvisor run` and "
    "`tfadvisor.profile()` write them"
)
_NOT_TOLD = "the recorded machine does not tell it"


def known_counters(run: RunSummary) -> list[Counted]:
    """Those beside the traces of hosts that can be used. Raises MetricAbsent without
    any.
    """
    found = [counter.counted for counter in run.counters if counter.counted is not None]
    if not found:
        raise MetricAbsent(
            next((counter.why for counter in run.counters if counter.why), _NONE)
        )
    return found


def largest(question: Question, ask: Callable[[Counted], float | None]) -> float:
    """Of the hosts that can answer. Raises MetricAbsent where none can."""
    found = [
        value
        for counter in known_counters(question.run)
        if (value := ask(counter)) is not None
    ]
    if not found:
        raise MetricAbsent(_NOT_TOLD)
    return max(found)


def smallest(question: Question, ask: Callable[[Counted], float | None]) -> float:
    """As largest."""
    return -largest(
        question,
        lambda counted: None if (value := ask(counted)) is None else -value,
    )


def grown(counted: Counted, name: str) -> float | None:
    """What a counter grew by while the window was open; None where it was not recorded,
    or ran backwards.
    """
    before = getattr(counted.opened, name)
    after = getattr(counted.closed, name)
    return None if before is None or after is None or after < before else after - before


def a_second(counted: Counted, name: str) -> float | None:
    """The same per second."""
    value = grown(counted, name)
    return None if value is None else value / counted.seconds


def per_step(question: Question, name: str) -> float:
    """The same per step of median length, on the host where it grew most. Needs known
    steps.
    """
    seconds = float(median(periods_ms(question.run))) / 1000
    return largest(
        question,
        lambda counted: (
            None if (rate := a_second(counted, name)) is None else rate * seconds
        ),
    )


def share(counted: Counted, part: str, *wholes: str) -> float | None:
    """One counter's growth over that of several; None where any was not recorded or
    none grew.
    """
    values = [grown(counted, name) for name in wholes]
    portion = grown(counted, part)
    known = [value for value in values if value is not None]
    if portion is None or len(known) < len(values) or not math.fsum(known):
        return None
    return min(portion / math.fsum(known), 1.0)


_ALL = ("busy_seconds", "idle_seconds", "iowait_seconds", "stolen_seconds")


@metric(
    unit=Unit.COUNT,
    needs=(known_counters,),
    better=Better.NEITHER,
    scatter=Scatter.FACTOR,
)
def program_cores(question: Question) -> float:
    """Cores that the recorded program and all processes that it started kept busy on
    average, on the host where it is most.
    """
    return largest(question, lambda counted: a_second(counted, "program_seconds"))


@metric(unit=Unit.COUNT, needs=(known_counters,), scatter=Scatter.FACTOR)
def other_cores(question: Question) -> float:
    """Cores that all other processes of the machine kept busy on average, on the host
    where it is most.
    """
    return largest(question, _others)


@metric(needs=(known_counters,))
def stolen_core_share(question: Question) -> float:
    """Share of the time of a virtual machine's cores in which the hypervisor ran others
    on them; of the worst host.
    """
    return largest(question, lambda counted: share(counted, "stolen_seconds", *_ALL))


@metric(needs=(known_counters,))
def core_wait_share(question: Question) -> float:
    """Of the time in which threads of the recorded process ran or could have run, the
    share in which they had no core; of the worst host.
    """
    return largest(
        question,
        lambda counted: share(
            counted, "waited_seconds", "ran_seconds", "waited_seconds"
        ),
    )


@metric(needs=(known_counters,))
def throttled_fraction(question: Question) -> float:
    """Share of the periods of the control group's quota of cores, mostly 100 ms each,
    at which the group was stopped because its quota was used up; of the worst host.
    """
    return largest(
        question, lambda counted: share(counted, "throttled_periods", "periods")
    )


@fact(needs=(known_counters,))
def whole_cores(question: Question) -> str:
    """Cores that the recorded process may use: those that it may run on, or its control
    group's quota where that is less; of the host with fewest, as a whole number of at
    least 1.
    """
    return str(max(int(smallest(question, usable)), 1))


def usable(counted: Counted) -> float | None:
    """Cores, None where the system does not tell."""
    allowed = counted.settings.allowed_cores or counted.settings.cores
    quota = counted.settings.quota_cores
    return None if allowed is None else min(float(allowed), quota or float(allowed))


def _others(counted: Counted) -> float | None:
    busy = a_second(counted, "busy_seconds")
    own = a_second(counted, "program_seconds")
    return None if busy is None or own is None else max(busy - own, 0.0)


# The GPUs as their driver saw them while the trace was recorded.


@metric(needs=(known_counters,), better=Better.MORE)
def gpu_clock_fraction(question: Question) -> float:
    """Clock of a GPU's multiprocessors over the highest that they can have, of the
    slowest of those that worked.
    """
    return min(
        _told(
            question,
            lambda gpu: (
                min(gpu.clock_mhz, gpu.highest_clock_mhz) / gpu.highest_clock_mhz
                if gpu.utilization
                and gpu.clock_mhz is not None
                and gpu.highest_clock_mhz
                else None
            ),
        )
    )


@fact(needs=(known_counters,))
def gpu_slowed_by(question: Question) -> str:
    """Faults by which the driver held a GPU's clock down: heat, power brake, hardware
    slowdown. A power limit that is reached is none.
    """
    found = sorted(
        {
            reason
            for counter in known_counters(question.run)
            for gpu in counter.gpus
            for reason in gpu.slowed_by
        }
    )
    if not found:
        raise MetricAbsent("no driver told that it holds a GPU's clock down")
    return " and ".join(found)


def _told(question: Question, ask: Callable[[MachineGpu], float | None]) -> list[float]:
    """Of the GPUs that can answer. Raises MetricAbsent where none can."""
    found = [
        value
        for counter in known_counters(question.run)
        for gpu in counter.gpus
        if (value := ask(gpu)) is not None
    ]
    if not found:
        raise MetricAbsent("no driver of a GPU told it during the recording")
    return found


# The host's memory while the trace was recorded.


@metric(needs=(known_counters,), better=Better.MORE)
def available_memory_fraction(question: Question) -> float:
    """Share of the machine's memory that its programs could still get, at the end of
    the recording where it was less; of the host where it is least.
    """
    return smallest(
        question,
        lambda counted: (
            min(*told, whole) / whole
            if (whole := counted.settings.memory_bytes)
            and len(
                told := [
                    end.available_bytes
                    for end in (counted.opened, counted.closed)
                    if end.available_bytes is not None
                ]
            )
            == 2
            else None
        ),
    )


@metric(unit=Unit.BYTES, needs=(known_counters, known_steps), scatter=Scatter.FACTOR)
def swapped_bytes_per_step(question: Question) -> float:
    """Bytes that the machine moved between memory and swap in a step of median length;
    of the worst host.
    """
    return per_step(question, "swapped_bytes")


@metric(unit=Unit.COUNT, needs=(known_counters, known_steps), scatter=Scatter.FACTOR)
def major_faults_per_step(question: Question) -> float:
    """How often in a step of median length the recorded process needed a page that had
    to come from storage: swapped out, or of a file that is mapped into memory; of the
    worst host.
    """
    return per_step(question, "major_faults")
