"""Rows of the page: the collectives of a run one by one, and its devices."""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import distinct, median
from tfadvisor.metrics.collectives import ring_bytes
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.report.forms.page_data import CollectiveRow, DeviceRow
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names.collective_events import CollectiveKind
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.timeline.summary.device import DeviceSummary
from tfadvisor.units import PS_PER_MS, PS_PER_S
from tfadvisor.vocabulary import TimeClass

_Key = tuple[str, CollectiveKind, int, int]
"""(name, kind, bytes or -1, group or 0)."""


def collectives_by_name(run: RunSummary) -> tuple[CollectiveRow, ...]:
    """One row a name, size and group, of the calls in the counted steps; those that
    take most time first.
    """
    lengths: dict[_Key, list[Int64Array]] = {}
    exposed: dict[_Key, int] = {}
    devices: dict[_Key, int] = {}
    steps = 0
    for host in counted_hosts(run):
        steady = host.steps.steady()
        steps = max(steps, int(steady.sum()))
        for device in host.devices:
            calls = device.collectives
            counted = (
                (calls.step >= 0) & steady[np.maximum(calls.step, 0)]
                if len(calls)
                else np.empty(0, np.bool_)
            )
            rows = np.stack(
                [calls.label[counted], calls.bytes[counted], calls.group[counted]]
            )
            for label, size, group in np.unique(rows, axis=1).T.tolist():
                mine = (
                    counted
                    & (calls.label == label)
                    & (calls.bytes == size)
                    & (calls.group == group)
                )
                key = calls.labels[label], calls.kinds[label], size, group
                lengths.setdefault(key, []).append((calls.end - calls.start)[mine])
                exposed[key] = exposed.get(key, 0) + int(calls.exposed_ps[mine].sum())
                devices[key] = devices.get(key, 0) + 1
    waits = _waits_by_label(run)
    rows_found = [
        _collective(
            key,
            np.concatenate(lengths[key]),
            exposed[key],
            devices[key],
            steps,
            waits.get(key[0]),
        )
        for key in lengths
    ]
    return tuple(sorted(rows_found, key=lambda row: -row.ms_per_step))


def _collective(
    key: _Key,
    length: Int64Array,
    exposed: int,
    devices: int,
    steps: int,
    wait: float | None,
) -> CollectiveRow:
    name, kind, size, group = key
    usual = median(length)
    exchange = usual - (wait or 0.0)
    sent = (
        float(ring_bytes(kind, np.array(size), np.array(group)))
        if size >= 0 and group > 1
        else None
    )
    executed = max(steps * devices, 1)
    return CollectiveRow(
        name=name,
        kind=kind.value,
        bytes=size if size >= 0 else None,
        group=group or None,
        devices=devices,
        count_per_step=len(length) / executed,
        median_ms=usual / PS_PER_MS,
        ms_per_step=int(length.sum()) / executed / PS_PER_MS,
        exposed=min(exposed / max(int(length.sum()), 1), 1.0),
        wait_ms=None if wait is None else wait / PS_PER_MS,
        bus_gb_s=sent / (exchange / PS_PER_S) / 1e9 if sent and exchange > 0 else None,
    )


def _waits_by_label(run: RunSummary) -> dict[str, float]:
    """Median over a collective's meetings in counted steps of the devices' mean
    waiting, ps.
    """
    meetings = run.meetings
    if not len(meetings):
        return {}
    counted = run.hosts[int(meetings.host[0])].steps.counts(meetings.step[:, 0])
    each = meetings.wait.mean(axis=1)
    return {
        meetings.labels[label]: float(median(each[counted & (meetings.label == label)]))
        for label in distinct(meetings.label[counted]).tolist()
    }


# The devices of a run one by one: where their time goes, and how long they wait for
# each other.


def devices_by_name(run: RunSummary, most_cells: int) -> tuple[DeviceRow, ...]:
    """Every active device, host by host. most_cells: of devices times steps; more are
    thinned out to every n-th step.
    """
    return tuple(
        _device(run, place, row, device, most_cells)
        for place, host in enumerate(run.hosts)
        for row, device in enumerate(host.devices)
    )


def _device(
    run: RunSummary, place: int, row: int, device: DeviceSummary, most_cells: int
) -> DeviceRow:
    host = run.hosts[place]
    counted = np.flatnonzero(host.takes_part[row] & host.steps.steady())
    time = host.breakdown[row, counted]
    cells = len(counted) * sum(len(one.devices) for one in run.hosts)
    thinned = slice(None, None, max(-(-cells // most_cells), 1))
    wait, last = _arrivals(run, place, row, len(counted))
    return DeviceRow(
        host=host.host,
        name=device.name,
        kind=device.kind.value,
        model=device.model,
        steps=len(counted),
        class_ms={
            one.label: float(time[:, one].mean()) / PS_PER_MS if len(counted) else 0.0
            for one in TimeClass
        },
        step=tuple(counted[thinned].tolist()),
        compute_ms=tuple((time[thinned, TimeClass.COMPUTE] / PS_PER_MS).tolist()),
        wait_ms=wait,
        last_share=last,
    )


def _arrivals(
    run: RunSummary, place: int, row: int, steps: int
) -> tuple[float | None, float | None]:
    """(ms a counted step that a device waits for the last to arrive, share of meetings
    in which it is the last).
    """
    meetings = run.meetings
    member = np.flatnonzero((meetings.host == place) & (meetings.device == row))
    if not len(member) or not steps:
        return None, None
    mine = int(member[0])
    counted = run.hosts[place].steps.counts(meetings.step[:, mine])
    if not counted.any():
        return None, None
    last = meetings.start[counted].argmax(axis=1) == mine
    return int(meetings.wait[counted, mine].sum()) / steps / PS_PER_MS, float(
        last.mean()
    )
