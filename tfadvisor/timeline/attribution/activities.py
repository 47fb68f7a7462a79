"""Where the counted steps of one host go: class by class, each instant to one
activity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tfadvisor.tallies import added_up
from tfadvisor.timeline.attribution.device_spent import (
    ON_DEVICE,
    device_work,
    idle_itself,
    own_waits,
    queued_work,
)
from tfadvisor.timeline.attribution.host_spent import HostWork
from tfadvisor.timeline.attribution.inside import Inside, together
from tfadvisor.timeline.attribution.spent import Sampled, Spent
from tfadvisor.timeline.attribution.thread_time import Chains, chains_of, name_kinds
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import (
    EMPTY,
    BoolArray,
    Intervals,
    difference,
    intersection,
    union,
)
from tfadvisor.timeline.steps.class_masks import classes_of_time, taking_part
from tfadvisor.timeline.timeline_parts import Device, Steps
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tfadvisor.program.find_modules import Modules

_MOST = 400
"""Entries of a class that are kept of a host; the rest is one entry without a name."""
_MOST_THREADS = 64
"""Threads beside the driving one that are looked at, those with most events first."""


def activities(
    threads: Threads,
    steps: Steps,
    host: Mapping[TimeClass, Intervals],
    kept: Sequence[Mapping[TimeClass, Intervals] | None],
    devices: Sequence[Device],
    breakdown: npt.NDArray[np.int64],
    programs: Modules,
    pipeline: BoolArray,
    pipeline_python: Intervals,
    samples: Sampled | None = None,
) -> tuple[tuple[Spent, ...], tuple[Inside, ...], Intervals]:
    """(what takes the time, what lies inside of it, when the driving thread is in no
    event). Summed over the
    devices that take part in each counted step, or of the host alone without any.

    host: of host_classes_of_time. kept: the classes on each device, as break_down gives
    them. breakdown: as the host's. pipeline: which events work for the input pipeline.
    pipeline_python: where that runs Python. samples: of the main thread.
    """
    if not len(steps) or not steps.steady().any():
        return (), (), EMPTY
    names = name_kinds(threads)
    thread = threads.threads[steps.thread] if steps.thread >= 0 else None
    driver = chains_of(threads, names, steps, thread, pipeline, gaps=True)

    @cache
    def beside() -> tuple[Chains, ...]:
        others = [
            one
            for one in threads.threads
            if one.index != steps.thread and one.hi > one.lo
        ]
        others.sort(key=lambda one: one.lo - one.hi)
        return tuple(
            chains_of(threads, names, steps, one, pipeline, gaps=False)
            for one in others[:_MOST_THREADS]
        )

    found: list[Spent] = []
    whole = dict.fromkeys(TimeClass, 0)
    work = HostWork(
        threads,
        names,
        driver,
        beside,
        pipeline_python,
        steps.steady_time.length(),
        samples,
    )
    part = taking_part(breakdown) & steps.steady()[None, :]
    for index, device in enumerate(devices or [None]):
        windows = union(steps.starts[part[index]], steps.ends[part[index]])
        classes = kept[index] or classes_of_time(device, host)
        for kind in TimeClass if len(windows) else ():
            if kind is TimeClass.IDLE:
                instants = reduce(difference, classes.values(), windows)
            else:
                instants = intersection(classes[kind], windows)
            if not len(instants):
                continue
            whole[kind] += instants.length()
            if device is not None:
                spent, instants = _on_device(device, kind, instants, host, programs)
                found += spent
            if len(instants):
                work.add(kind, instants)
    largest = _largest([*found, *work.told()], whole)
    return largest, together(work.inside()), driver.gaps()


def _on_device(
    device: Device,
    kind: TimeClass,
    instants: Intervals,
    host: Mapping[TimeClass, Intervals],
    programs: Modules,
) -> tuple[list[Spent], Intervals]:
    """(what the device itself tells of these instants, those that the host must tell
    of).
    """
    if kind is TimeClass.TRANSFER:
        left = difference(instants, device.transfer)
        return device_work(
            device, kind, intersection(instants, device.transfer), programs
        ), left
    if kind in ON_DEVICE:
        waits, instants = (
            own_waits(device, instants, programs)
            if kind is TimeClass.COMPUTE
            else ([], instants)
        )
        return [*waits, *device_work(device, kind, instants, programs)], EMPTY
    if kind in (TimeClass.INPUT, TimeClass.IDLE):
        return idle_itself(device, kind, instants)
    if kind is TimeClass.LAUNCH:
        return queued_work(device, difference(instants, host[kind])), intersection(
            instants, host[kind]
        )
    return [], instants


def _largest(
    spent: Sequence[Spent], whole: Mapping[TimeClass, int]
) -> tuple[Spent, ...]:
    """Of each class the largest first, alike ones together, then without a name what
    they leave of the whole.
    """
    found = added_up((replace(one, ps=0), one.ps) for one in spent)
    entries: list[Spent] = []
    for kind, length in whole.items():
        mine = sorted(
            ((ps, one) for one, ps in found.items() if one.kind is kind),
            key=lambda pair: -pair[0],
        )[:_MOST]
        entries += [replace(one, ps=ps) for ps, one in mine]
        rest = length - sum(ps for ps, _ in mine)
        entries += [Spent(kind, ps=rest)] if rest else []
    return tuple(entries)
