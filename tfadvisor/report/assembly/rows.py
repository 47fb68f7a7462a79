"""Rows of the page: the collectives of a run one by one, and its devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tfadvisor.arrays import BoolArray, Int64Array, distinct, median
from tfadvisor.metrics import counted_hosts, ring_bytes
from tfadvisor.report.forms.page_data import CollectiveRow, DeviceRow
from tfadvisor.timeline.devices import CollectiveCalls
from tfadvisor.timeline.names.collective_events import CollectiveKind
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import DeviceSummary
from tfadvisor.units import PS_PER_MS, PS_PER_S
from tfadvisor.vocabulary import TimeClass


class _Alike(NamedTuple):
    """What calls of one row have in common."""

    name: str
    kind: CollectiveKind
    size: int
    """Bytes, -1 where they are not known."""
    group: int
    """Devices that take part, 0 where that is not known."""


class _AlikeCalls:
    """Calls that are alike, added up over devices."""

    def __init__(self) -> None:
        self.lengths: list[Int64Array] = []
        """ps, an array a device."""
        self.exposed = 0
        """ps in which nothing else runs."""

    def add(self, calls: CollectiveCalls, mine: BoolArray) -> None:
        """Those of one device. mine: which of its calls."""
        lengths = calls.end - calls.start
        self.lengths.append(lengths[mine])

        exposed = calls.exposed_ps[mine]
        self.exposed += int(exposed.sum())


def collectives_by_name(run: RunSummary) -> tuple[CollectiveRow, ...]:
    """One row a name, size and group, of the calls in the counted steps; those that
    take most time first.
    """
    found: dict[_Alike, _AlikeCalls] = {}
    steps = 0
    for host in counted_hosts(run):
        steady = host.steps.steady()
        steps = max(steps, int(steady.sum()))
        for device in host.devices:
            calls = device.collectives
            for key, mine in _alike(calls, steady):
                found.setdefault(key, _AlikeCalls())
                found[key].add(calls, mine)

    rows = []
    waits = _waits_by_label(run)
    for key, alike in found.items():
        wait = waits.get(key.name)
        rows.append(_collective(key, alike, steps, wait))
    rows.sort(key=lambda row: -row.ms_per_step)
    return tuple(rows)


def _alike(
    calls: CollectiveCalls,
    steady: BoolArray,
) -> Iterator[tuple[_Alike, BoolArray]]:
    """Which of a device's calls in counted steps are alike."""
    if not len(calls):
        return
    counted = calls.step >= 0
    counted &= steady[np.maximum(calls.step, 0)]
    rows = np.stack(
        [
            calls.label[counted],
            calls.bytes[counted],
            calls.group[counted],
        ]
    )

    different = np.unique(rows, axis=1)
    for label, size, group in different.T.tolist():
        mine = counted & (calls.label == label)
        mine &= calls.bytes == size
        mine &= calls.group == group
        name = calls.labels[label]
        kind = calls.kinds[label]
        yield _Alike(name, kind, size, group), mine


def _collective(
    key: _Alike,
    calls: _AlikeCalls,
    steps: int,
    wait: float | None,
) -> CollectiveRow:
    devices = len(calls.lengths)
    executed = max(steps * devices, 1)
    lengths = np.concatenate(calls.lengths)
    total = int(lengths.sum())
    usual = median(lengths)
    exposed = calls.exposed / max(total, 1)
    exchange = usual - (wait or 0.0)

    return CollectiveRow(
        name=key.name,
        kind=key.kind.value,
        bytes=key.size if key.size >= 0 else None,
        group=key.group or None,
        devices=devices,
        count_per_step=len(lengths) / executed,
        median_ms=usual / PS_PER_MS,
        ms_per_step=total / executed / PS_PER_MS,
        exposed=min(exposed, 1.0),
        wait_ms=None if wait is None else wait / PS_PER_MS,
        bus_gb_s=_bandwidth(key, exchange),
    )


def _bandwidth(key: _Alike, exchange_ps: float) -> float | None:
    """GB/s on each link; None where size, group or time are not known."""
    if key.size < 0 or key.group <= 1 or exchange_ps <= 0:
        return None
    size = np.array(key.size)
    group = np.array(key.group)
    sent = float(ring_bytes(key.kind, size, group))
    seconds = exchange_ps / PS_PER_S
    return sent / seconds / 1e9 if sent else None


def _waits_by_label(run: RunSummary) -> dict[str, float]:
    """Median over a collective's meetings in counted steps of the devices' mean
    waiting, ps.
    """
    meetings = run.meetings
    if not len(meetings):
        return {}
    first_host = run.hosts[int(meetings.host[0])]
    first_steps = meetings.step[:, 0]
    counted = first_host.steps.counts(first_steps)
    each = meetings.wait.mean(axis=1)

    waits = {}
    labels = distinct(meetings.label[counted])
    for label in labels.tolist():
        mine = counted & (meetings.label == label)
        name = meetings.labels[label]
        waits[name] = float(median(each[mine]))
    return waits


# The devices of a run one by one: where their time goes, and how long they wait for
# each other.


def devices_by_name(
    run: RunSummary,
    most_cells: int,
) -> tuple[DeviceRow, ...]:
    """Every active device, host by host. most_cells: of devices times steps; more are
    thinned out to every n-th step.
    """
    rows = []
    for place, host in enumerate(run.hosts):
        for row, device in enumerate(host.devices):
            rows.append(_device(run, place, row, device, most_cells))
    return tuple(rows)


def _device(
    run: RunSummary,
    place: int,
    row: int,
    device: DeviceSummary,
    most_cells: int,
) -> DeviceRow:
    host = run.hosts[place]
    steady = host.steps.steady()
    counted = np.flatnonzero(host.takes_part[row] & steady)
    time = host.breakdown[row, counted]
    wait, last = _arrivals(
        run,
        place,
        row,
        len(counted),
    )

    devices = sum(len(peer.devices) for peer in run.hosts)
    cells = devices * len(counted)
    every = max(-(-cells // most_cells), 1)
    step = counted[::every]
    compute = time[::every, TimeClass.COMPUTE] / PS_PER_MS

    return DeviceRow(
        host=host.host,
        name=device.name,
        kind=device.kind.value,
        model=device.model,
        steps=len(counted),
        class_ms=_mean_ms(time),
        step=tuple(step.tolist()),
        compute_ms=tuple(compute.tolist()),
        wait_ms=wait,
        last_share=last,
    )


def _mean_ms(time: Int64Array) -> dict[str, float]:
    """Of each class. time: a row a step, ps."""
    found = {}
    for time_class in TimeClass:
        mean = time[:, time_class].mean() if len(time) else 0.0
        found[time_class.label] = float(mean) / PS_PER_MS
    return found


def _arrivals(
    run: RunSummary,
    place: int,
    row: int,
    steps: int,
) -> tuple[float | None, float | None]:
    """(ms a counted step that a device waits for the last to arrive, share of meetings
    in which it is the last).
    """
    meetings = run.meetings
    is_it = (meetings.host == place) & (meetings.device == row)
    member = np.flatnonzero(is_it)
    if not len(member) or not steps:
        return None, None

    mine = int(member[0])
    its_steps = meetings.step[:, mine]
    counted = run.hosts[place].steps.counts(its_steps)
    if not counted.any():
        return None, None

    waited = int(meetings.wait[counted, mine].sum())
    last = meetings.start[counted].argmax(axis=1)
    share = (last == mine).mean()
    return waited / steps / PS_PER_MS, float(share)
