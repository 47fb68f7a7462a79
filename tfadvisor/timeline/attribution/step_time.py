"""Where the counted steps of one host go: class by class, each instant to one activity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tfadvisor.timeline.attribution.device_spent import ON_DEVICE, device_work, infeed_wait, queued_work
from tfadvisor.timeline.attribution.host_spent import host_work
from tfadvisor.timeline.attribution.model import Spent
from tfadvisor.timeline.attribution.thread_time import Chains, chains_of, name_kinds
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import EMPTY, BoolArray, Intervals, difference, intersection, union
from tfadvisor.timeline.model import Device, Steps
from tfadvisor.timeline.steps.breakdown import classes_of_time, taking_part
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tfadvisor.hlo.format.find_modules import Modules

_MOST = 400
"""Entries of a class that are kept of a host; the rest is one entry without a name."""
_MOST_THREADS = 64
"""Threads beside the driving one that are looked at, those with most events first."""


def step_time(
    threads: Threads,
    steps: Steps,
    host: Mapping[TimeClass, Intervals],
    first: Mapping[TimeClass, Intervals],
    devices: Sequence[Device],
    breakdown: npt.NDArray[np.int64],
    programs: Modules,
    pipeline: BoolArray,
    pipeline_python: Intervals,
) -> tuple[Spent, ...]:
    """Summed over the devices that take part in each counted step, or of the host alone without any.

    host: of host_classes_of_time. first: the classes on the first device, as break_down gives them. breakdown: as the host's.
    pipeline: which events work for the input pipeline. pipeline_python: where that runs Python.
    """
    if not len(steps) or not steps.steady().any():
        return ()
    names = name_kinds(threads)
    thread = threads.threads[steps.thread] if steps.thread >= 0 else None
    driver = chains_of(threads, names, steps, thread, pipeline, gaps=True)

    @cache
    def beside() -> tuple[Chains, ...]:
        others = [one for one in threads.threads if one.index != steps.thread and one.hi > one.lo]
        others.sort(key=lambda one: one.lo - one.hi)
        return tuple(chains_of(threads, names, steps, one, pipeline, gaps=False) for one in others[:_MOST_THREADS])

    def others() -> Iterator[Chains]:
        return iter(beside())

    found: dict[Spent, int] = {}
    part = taking_part(breakdown) & steps.steady()[None, :]
    for index, device in enumerate(devices or [None]):
        windows = union(steps.starts[part[index]], steps.ends[part[index]])
        if not len(windows):
            continue
        classes = first if index == 0 else classes_of_time(device, host)
        length = windows.length()
        for kind in TimeClass:
            instants = (
                reduce(difference, classes.values(), windows)
                if kind is TimeClass.IDLE
                else intersection(classes[kind], windows)
            )
            if not len(instants):
                continue
            spent: list[Spent] = []
            left = instants
            if kind in ON_DEVICE and device is not None:
                spent = device_work(device, kind, instants, programs)
                left = instants.clip(0, 0)
            elif kind is TimeClass.INPUT and device is not None:
                spent, left = infeed_wait(device, instants)
            elif kind is TimeClass.LAUNCH and device is not None:
                left = intersection(instants, host[kind])
                spent = queued_work(device, difference(instants, host[kind]))
            if len(left):
                locked_out = pipeline_python if kind is TimeClass.INPUT else EMPTY
                spent += host_work(kind, left, driver, others, locked_out, threads, names, length)
            _add(found, kind, spent, instants.length())
    return _largest(found)


def _add(found: dict[Spent, int], kind: TimeClass, spent: Sequence[Spent], whole: int) -> None:
    """Adds what is listed, and what of the whole it leaves."""
    for one in (*spent, Spent(kind, ps=whole - sum(one.ps for one in spent))):
        key = replace(one, ps=0)
        found[key] = found.get(key, 0) + one.ps


def _largest(found: Mapping[Spent, int]) -> tuple[Spent, ...]:
    """The largest of each class first; what is not kept is added to the entry without a name."""
    entries: list[Spent] = []
    for kind in TimeClass:
        mine = [(one, ps) for one, ps in found.items() if one.kind is kind and ps and one != Spent(kind)]
        mine.sort(key=lambda pair: -pair[1])
        rest = found.get(Spent(kind), 0) + sum(ps for _, ps in mine[_MOST:])
        entries += [replace(one, ps=ps) for one, ps in mine[:_MOST]]
        entries += [Spent(kind, ps=rest)] if rest else []
    return tuple(entries)
