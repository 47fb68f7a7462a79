"""Who had the machine's cores while the trace was recorded."""

from __future__ import annotations

import math

from tfadvisor.machine.file import Counted
from tfadvisor.metrics.machine.counted import a_second, known_counters, largest, share, smallest
from tfadvisor.metrics.registry import Question, fact, metric
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, Scatter

_POOLS = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
_ALL = ("busy_seconds", "idle_seconds", "iowait_seconds", "stolen_seconds")


@metric(unit=Unit.COUNT, needs=(known_counters,), better=Better.NEITHER, scatter=Scatter.FACTOR)
def program_cores(question: Question) -> float:
    """Cores that the recorded program and all processes that it started kept busy on average, on the host where it is most."""
    return largest(question, lambda one: a_second(one, "program_seconds"))


@metric(unit=Unit.COUNT, needs=(known_counters,), better=Better.LESS, scatter=Scatter.FACTOR)
def other_cores(question: Question) -> float:
    """Cores that all other processes of the machine kept busy on average, on the host where it is most."""
    return largest(question, _others)


@metric(unit=Unit.FRACTION, needs=(known_counters,), better=Better.LESS)
def other_core_share(question: Question) -> float:
    """other_cores over the cores of that machine."""
    return largest(question, _others_share)


@metric(unit=Unit.FRACTION, needs=(known_counters,), better=Better.NEITHER)
def machine_busy_fraction(question: Question) -> float:
    """Share of the time of the machine's cores in which they ran anything, or were taken by the hypervisor; of the host
    where it is most.
    """
    return largest(question, _busy)


@metric(unit=Unit.FRACTION, needs=(known_counters,), better=Better.LESS)
def stolen_core_share(question: Question) -> float:
    """Share of the time of a virtual machine's cores in which the hypervisor ran others on them; of the worst host."""
    return largest(question, lambda one: share(one, "stolen_seconds", *_ALL))


@metric(unit=Unit.FRACTION, needs=(known_counters,), better=Better.LESS)
def core_wait_share(question: Question) -> float:
    """Of the time in which threads of the recorded process ran or could have run, the share in which they had no core;
    of the worst host.
    """
    return largest(question, lambda one: share(one, "waited_seconds", "ran_seconds", "waited_seconds"))


@metric(unit=Unit.FRACTION, needs=(known_counters,), better=Better.LESS)
def throttled_fraction(question: Question) -> float:
    """Share of the periods of the control group's quota of cores, mostly 100 ms each, at which the group was stopped because
    its quota was used up; of the worst host.
    """
    return largest(question, lambda one: share(one, "throttled_periods", "periods"))


@metric(unit=Unit.COUNT, needs=(known_counters,), better=Better.MORE)
def usable_cores(question: Question) -> float:
    """Cores that the recorded process may use: those that it may run on, or its control group's quota where that is less;
    of the host with fewest.
    """
    return smallest(question, usable)


@fact(needs=(known_counters,))
def whole_cores(question: Question) -> str:
    """usable_cores as a whole number of at least 1, for settings that take no other."""
    return str(max(int(usable_cores(question)), 1))


def usable(one: Counted) -> float | None:
    """Cores, None where the system does not tell."""
    allowed = one.settings.allowed_cores or one.settings.cores
    quota = one.settings.quota_cores
    return None if allowed is None else min(float(allowed), quota or float(allowed))


def pool(one: Counted) -> tuple[int | None, str]:
    """Threads of the largest pool that was asked for, and who asked; else what frameworks take by themselves."""
    asked = [(number, f"{name} threads") for name, number in one.settings.threads.items()]
    for name in _POOLS:
        told = one.settings.variables.get(name, "").split(",")[0]
        if told.isascii() and told.isdecimal() and len(told) < 8 and int(told):
            asked.append((int(told), name))
    if asked:
        return max(asked)
    return one.settings.allowed_cores or one.settings.cores, "cores that the process may run on"


def _others(one: Counted) -> float | None:
    busy, own = a_second(one, "busy_seconds"), a_second(one, "program_seconds")
    return None if busy is None or own is None else max(busy - own, 0.0)


def _others_share(one: Counted) -> float | None:
    others, cores = _others(one), one.settings.cores
    return None if others is None or cores is None else min(others / cores, 1.0)


def _busy(one: Counted) -> float | None:
    parts = [share(one, name, *_ALL) for name in ("busy_seconds", "stolen_seconds")]
    known = [part for part in parts if part is not None]
    return min(math.fsum(known), 1.0) if len(known) == len(parts) else None
