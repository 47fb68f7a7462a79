"""The devices of a run one by one: where their time goes, and how long they wait for each other."""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics.collectives.cost import counted_meetings
from tfadvisor.report.page.model import DeviceRow
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.timeline.summary.device import DeviceSummary
from tfadvisor.units import PS_PER_MS
from tfadvisor.vocabulary import TimeClass


def devices_by_name(run: RunSummary, most_cells: int) -> tuple[DeviceRow, ...]:
    """Every active device, host by host. most_cells: of devices times steps; more are thinned out to every n-th step."""
    return tuple(
        _device(run, place, row, device, most_cells)
        for place, host in enumerate(run.hosts)
        for row, device in enumerate(host.devices)
    )


def _device(run: RunSummary, place: int, row: int, device: DeviceSummary, most_cells: int) -> DeviceRow:
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
        class_ms={one.label: float(time[:, one].mean()) / PS_PER_MS if len(counted) else 0.0 for one in TimeClass},
        step=tuple(counted[thinned].tolist()),
        compute_ms=tuple((time[thinned, TimeClass.COMPUTE] / PS_PER_MS).tolist()),
        wait_ms=wait,
        last_share=last,
    )


def _arrivals(run: RunSummary, place: int, row: int, steps: int) -> tuple[float | None, float | None]:
    """(ms a counted step that a device waits for the last to arrive, share of meetings in which it is the last)."""
    meetings = run.meetings
    member = np.flatnonzero((meetings.host == place) & (meetings.device == row))
    if not len(member) or not steps:
        return None, None
    mine = int(member[0])
    counted = counted_meetings(run.hosts[place], meetings, mine)
    if not counted.any():
        return None, None
    last = meetings.start[counted].argmax(axis=1) == mine
    return int(meetings.wait[counted, mine].sum()) / steps / PS_PER_MS, float(last.mean())
