"""Where the counted steps of one host go: class by class, each instant to one
activity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple, replace

from tfadvisor.memory_limits import give_back
from tfadvisor.tallies import listed
from tfadvisor.timeline.attribution.device_spent import (
    ON_DEVICE,
    device_work,
    idle_itself,
    own_waits,
    queued_work,
)
from tfadvisor.timeline.attribution.host_spent import HostWork
from tfadvisor.timeline.attribution.inside import Inside, together
from tfadvisor.timeline.attribution.spent import CALLED_PYTHON, Sampled, Spent
from tfadvisor.timeline.attribution.thread_time import (
    Chains,
    chains_of,
    name_kinds,
)
from tfadvisor.timeline.host.step_python import CalledPython
from tfadvisor.timeline.host.thread_layout import Thread
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import (
    EMPTY,
    Intervals,
    difference,
    intersection,
    union,
    union_of,
)
from tfadvisor.timeline.steps.class_masks import classes_of_time, taking_part
from tfadvisor.timeline.timeline_parts import Device, Steps
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.arrays import BoolArray, Int64Array
    from tfadvisor.program import Modules

_MOST = 1_000
"""Entries of a class that are kept of a host; the rest is one entry without a name."""
_MOST_THREADS = 64
"""Threads beside the driving one that are looked at, those with most events first."""


def activities(
    threads: Threads,
    steps: Steps,
    host: Mapping[TimeClass, Intervals],
    kept: Sequence[Mapping[TimeClass, Intervals] | None],
    devices: Sequence[Device],
    breakdown: Int64Array,
    programs: Modules,
    pipeline: BoolArray,
    pipeline_python: Intervals,
    samples: Sampled | None = None,
    called: Sequence[CalledPython] = (),
) -> tuple[tuple[Spent, ...], tuple[Inside, ...], Intervals]:
    """(what takes the time, what lies inside of it, when the driving thread is in no
    event, where samples tell of that). Summed over the devices that take part in each
    counted step, or of the host alone without any.

    host: of host_classes_of_time. kept: the classes on each device, as break_down gives
    them. breakdown: as the host's. pipeline: which events work for the input pipeline.
    pipeline_python: where that runs Python. samples: of the main thread.
    called: Python that the step calls.
    """
    if not len(steps) or not steps.steady().any():
        return (), (), EMPTY
    found: list[Spent] = []
    of_host: list[tuple[TimeClass, Intervals]] = []
    whole = dict.fromkeys(TimeClass, 0)
    part = taking_part(breakdown) & steps.steady()[None, :]
    for index, device in enumerate(devices or [None]):
        windows = union(steps.starts[part[index]], steps.ends[part[index]])
        classes = kept[index] or classes_of_time(device, host)
        for kind, instants in _by_class(classes, windows):
            whole[kind] += instants.length()
            left = instants
            if device is not None:
                spent, left = _on_device(device, kind, instants, host, programs)
                found += spent
            spent, left = _in_called(called, kind, left)
            found += spent
            if len(left):
                of_host.append((kind, left))

    wanted = union_of(*(instants for _, instants in of_host))
    if samples is not None:
        wanted = steps.steady_time
    names = name_kinds(threads)
    chains = partial(chains_of, threads, names, steps, pipeline=pipeline, wanted=wanted)
    driver = chains(_driving_thread(threads, steps))

    work = HostWork(
        threads,
        names,
        driver,
        cache(partial(_of_others, chains, threads, steps)),
        pipeline_python,
        steps.steady_time.length(),
        samples,
    )
    give_back(len(threads))  # what sets of instants left, before the next ones
    for kind, instants in of_host:
        work.add(kind, instants)
    work.settle()
    largest = _largest([*found, *work.activities()], whole)
    return largest, together(work.inside()), driver.gaps()


def _in_called(
    called: Sequence[CalledPython], kind: TimeClass, instants: Intervals
) -> tuple[list[Spent], Intervals]:
    """(Python that the step calls at these instants of a class, what is left of
    them). All of it is of HOST.
    """
    found: list[Spent] = []
    for python in called if kind is TimeClass.HOST else ():
        mine = intersection(instants, python.when)
        instants = difference(instants, python.when)
        call = python.call
        spent = Spent(
            TimeClass.HOST,
            CALLED_PYTHON,
            call.op,
            call.file,
            call.line,
            call.function,
            ps=mine.length(),
        )
        found += [spent] if spent.ps else []
    return found, instants


def _driving_thread(threads: Threads, steps: Steps) -> Thread | None:
    return threads.threads[steps.thread] if steps.thread >= 0 else None


def _of_others(
    chains: Callable[..., Chains], threads: Threads, steps: Steps
) -> tuple[Chains, ...]:
    """What each thread but the driving one does. chains: of a thread."""
    others = [
        thread
        for thread in threads.threads
        if thread.index != steps.thread and thread.hi > thread.lo
    ]
    others.sort(key=lambda thread: thread.lo - thread.hi)
    return tuple(chains(thread, gaps=False) for thread in others[:_MOST_THREADS])


def _by_class(
    classes: Mapping[TimeClass, Intervals],
    windows: Intervals,
) -> Iterator[tuple[TimeClass, Intervals]]:
    """Each class that takes any instant of the windows, with those that it takes."""
    idle = windows
    for kind in classes if len(windows) else ():
        mine = classes[kind]
        idle = difference(idle, mine)
        instants = intersection(mine, windows)
        del mine  # the next one may be as large
        if len(instants):
            yield kind, instants
    if len(idle):
        yield TimeClass.IDLE, idle


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
        copying = intersection(instants, device.transfer)
        left = difference(instants, device.transfer)
        return device_work(device, kind, copying, programs), left
    if kind is TimeClass.COMPUTE:
        waits, computing = own_waits(device, instants, programs)
        work = device_work(device, kind, computing, programs)
        return [*waits, *work], EMPTY
    if kind in ON_DEVICE:
        return device_work(device, kind, instants, programs), EMPTY
    if kind in (TimeClass.INPUT, TimeClass.IDLE):
        return idle_itself(device, kind, instants)
    if kind is TimeClass.LAUNCH:
        dispatching = intersection(instants, host[kind])
        waiting = difference(instants, host[kind])
        return queued_work(device, kind, waiting), dispatching
    return [], instants


def _largest(
    spent: Sequence[Spent],
    whole: Mapping[TimeClass, int],
) -> tuple[Spent, ...]:
    """Of each class the largest first, alike ones together, then without a name what
    they leave of the whole.
    """
    total: dict[tuple[Any, ...], Spent] = {}
    for entry in spent:
        said = astuple(entry)[:-1]  # all but its time
        alike = total.get(said)
        total[said] = replace(entry, ps=alike.ps + entry.ps) if alike else entry
    by_class = listed((entry.kind, entry) for entry in total.values())
    entries: list[Spent] = []
    for kind, length in whole.items():
        mine = by_class.get(kind, [])
        largest = sorted(mine, key=lambda entry: -entry.ps)[:_MOST]
        entries += largest
        rest = length - sum(entry.ps for entry in largest)
        if rest:
            entries.append(Spent(kind, ps=rest))
    return tuple(entries)
