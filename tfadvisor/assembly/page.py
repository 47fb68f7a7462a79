"""What the page draws beyond the report, from the run's timeline."""

from __future__ import annotations

import numpy as np

from tfadvisor.arrays import median
from tfadvisor.assembly.ops import run_ops
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.report.model import Report
from tfadvisor.report.page.model import (
    CallRow,
    CollectiveRow,
    DeviceRow,
    DrawnStep,
    LaneInfo,
    PageData,
    PipelineInfo,
    StageRow,
)
from tfadvisor.timeline.intervals import Int64Array
from tfadvisor.timeline.names.collectives import CollectiveKind
from tfadvisor.timeline.names.devices import instruction_name
from tfadvisor.timeline.picture.step_picture import StepPicture
from tfadvisor.timeline.run.run_timeline import RunTimeline
from tfadvisor.timeline.summary.device import DeviceSummary
from tfadvisor.timeline.summary.host import HostSummary
from tfadvisor.units import PS_PER_MS, PS_PER_S
from tfadvisor.vocabulary import TimeClass

_MOST_OPS = 20_000
_MOST_COLLECTIVES = 2_000
_MOST_CELLS = 20_000
"""Of devices times steps; more are thinned out to every n-th step."""
_MOST_DRAWN_EVENTS = 24_000
_PS_PER_NS = 1_000
_SETTING_TYPES = (str, int, float, bool)


def gather_page(report: Report, run: RunTimeline) -> PageData:
    """The run must have been read in detail, else no step is drawn."""
    drawn, left_out = _drawn(run)
    return PageData(
        report=report,
        ops=run_ops(run, _MOST_OPS),
        collectives=_collectives(run),
        devices=_devices(run),
        pipelines=tuple(_pipeline(host) for host in run.hosts if host.evidence.pipeline is not None),
        calls=tuple(row for host in counted_hosts(run) for row in _calls(host)),
        drawn=drawn,
        hosts_left_out=left_out,
    )


def _drawn(run: RunTimeline) -> tuple[tuple[DrawnStep, ...], int]:
    """(steps host by host as long as the page stays light, how many hosts are left out)."""
    found: list[DrawnStep] = []
    left, left_out = _MOST_DRAWN_EVENTS, 0
    for host in run.hosts:
        size = sum(len(picture.rows) for picture in host.evidence.pictures)
        if size > left:
            left_out += 1
            continue
        left -= size
        found += [_drawn_step(host.host, picture) for picture in host.evidence.pictures]
    return tuple(found), left_out


def _drawn_step(host: str, picture: StepPicture) -> DrawnStep:
    rows = picture.rows
    start, end = rows.start // _PS_PER_NS, (rows.start + rows.length) // _PS_PER_NS
    return DrawnStep(
        host=host,
        which=picture.which,
        index=picture.index,
        span_ns=picture.span_ps // _PS_PER_NS,
        lanes=tuple(LaneInfo(one.role, one.device, one.name, one.around, one.deeper) for one in picture.lanes),
        lane=rows.lane.astype(np.int64),
        depth=rows.depth.astype(np.int64),
        start=start,
        length=end - start,
        kind=rows.kind.astype(np.int64),
        name=rows.name.astype(np.int64),
        events=rows.events,
        busy=rows.busy // _PS_PER_NS,
        names=tuple(instruction_name(one) if one.startswith("%") else one for one in rows.names),
        threads_left_out=picture.threads_left_out,
    )


def _collectives(run: RunTimeline) -> tuple[CollectiveRow, ...]:
    """One row a name and size, those that take most time first."""
    lengths: dict[tuple[str, str, int, int], list[Int64Array]] = {}
    exposed: dict[tuple[str, str, int, int], int] = {}
    devices: dict[tuple[str, str, int, int], int] = {}
    steps = 0
    for host in counted_hosts(run):
        steady = host.steps.steady()
        steps = max(steps, int(steady.sum()))
        for device in host.devices:
            calls = device.collectives
            counted = (calls.step >= 0) & steady[np.maximum(calls.step, 0)] if len(calls) else np.empty(0, np.bool_)
            rows = np.stack([calls.label[counted], calls.bytes[counted], calls.group[counted]])
            for label, size, group in np.unique(rows, axis=1).T.tolist():
                mine = counted & (calls.label == label) & (calls.bytes == size) & (calls.group == group)
                key = calls.labels[label], calls.kinds[label].value, size, group
                lengths.setdefault(key, []).append((calls.end - calls.start)[mine])
                exposed[key] = exposed.get(key, 0) + int(calls.exposed_ps[mine].sum())
                devices[key] = devices.get(key, 0) + 1
    waits = _waits_by_label(run)
    rows_found = [
        _collective(key, np.concatenate(lengths[key]), exposed[key], devices[key], steps, waits.get(key[0]))
        for key in lengths
    ]
    return tuple(sorted(rows_found, key=lambda row: -row.ms_per_step)[:_MOST_COLLECTIVES])


def _collective(
    key: tuple[str, str, int, int], length: Int64Array, exposed: int, devices: int, steps: int, wait: float | None
) -> CollectiveRow:
    name, kind, size, group = key
    usual = median(length)
    exchange = usual - (wait or 0.0)
    sent = size * _ring_factor(kind, group) if size >= 0 and group > 1 else None
    executed = max(steps * devices, 1)
    return CollectiveRow(
        name=name,
        kind=kind,
        bytes=size if size >= 0 else None,
        group=group or None,
        devices=devices,
        count_per_step=len(length) / executed,
        median_ms=usual / PS_PER_MS,
        fastest_ms=int(length.min()) / PS_PER_MS,
        ms_per_step=int(length.sum()) / executed / PS_PER_MS,
        exposed=min(exposed / max(int(length.sum()), 1), 1.0),
        wait_ms=None if wait is None else wait / PS_PER_MS,
        bus_gb_s=sent / (exchange / PS_PER_S) / 1e9 if sent and exchange > 0 else None,
    )


def _ring_factor(kind: str, group: int) -> float:
    """What each device of a ring sends, over the message's size (NVIDIA/nccl-tests, doc/PERFORMANCE.md)."""
    around = (group - 1) / group
    if kind == CollectiveKind.ALL_REDUCE.value:
        return 2 * around
    gathers = CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_TO_ALL
    return around if kind in [one.value for one in gathers] else 1.0


def _waits_by_label(run: RunTimeline) -> dict[str, float]:
    """Median over a collective's meetings of the devices' mean waiting, ps."""
    meetings = run.meetings
    each = meetings.wait.mean(axis=1) if len(meetings) else np.empty(0)
    return {
        meetings.labels[label]: float(median(each[meetings.label == label])) for label in set(meetings.label.tolist())
    }


def _devices(run: RunTimeline) -> tuple[DeviceRow, ...]:
    number = sum(len(host.devices) for host in run.hosts)
    return tuple(
        _device(run, place, row, device, max(number, 1))
        for place, host in enumerate(run.hosts)
        for row, device in enumerate(host.devices)
    )


def _device(run: RunTimeline, place: int, row: int, device: DeviceSummary, devices: int) -> DeviceRow:
    host = run.hosts[place]
    counted = np.flatnonzero(host.takes_part[row] & host.steps.steady())
    time = host.breakdown[row, counted]
    thinned = slice(None, None, max(-(-len(counted) * devices // _MOST_CELLS), 1))
    wait, last = _arrivals(run, place, row, len(counted))
    return DeviceRow(
        host=host.host,
        name=device.name,
        kind=device.kind.value,
        model=device.model,
        steps=len(counted),
        class_ms={
            one.name.lower(): float(time[:, one].mean()) / PS_PER_MS if len(counted) else 0.0 for one in TimeClass
        },
        step=tuple(counted[thinned].tolist()),
        compute_ms=tuple((time[thinned, TimeClass.COMPUTE] / PS_PER_MS).tolist()),
        wait_ms=wait,
        last_share=last,
    )


def _arrivals(run: RunTimeline, place: int, row: int, steps: int) -> tuple[float | None, float | None]:
    """(ms a counted step that a device waits for the last to arrive, share of meetings in which it is the last)."""
    meetings = run.meetings
    member = np.flatnonzero((meetings.host == place) & (meetings.device == row))
    if not len(member) or not steps:
        return None, None
    mine, steady = int(member[0]), run.hosts[place].steps.steady()
    step = meetings.step[:, mine]
    counted = (step >= 0) & steady[np.maximum(step, 0)]
    if not counted.any():
        return None, None
    last = meetings.start[counted].argmax(axis=1) == mine
    return int(meetings.wait[counted, mine].sum()) / steps / PS_PER_MS, float(last.mean())


def _pipeline(host: HostSummary) -> PipelineInfo:
    pipeline = host.evidence.pipeline
    assert pipeline is not None
    steps = max(pipeline.steps, 1)
    return PipelineInfo(
        host.host,
        tuple(
            StageRow(
                path=stage.path,
                kind=stage.kind,
                name=stage.name,
                calls_per_step=stage.calls / steps,
                ms_per_step=stage.busy_ps / steps / PS_PER_MS,
                wall_ms=stage.wall_ps / steps / PS_PER_MS,
                parallelism=stage.parallelism,
                python=stage.python,
                settings={
                    key: str(value) for key, value in stage.settings.items() if isinstance(value, _SETTING_TYPES)
                },
            )
            for stage in pipeline.stages
        ),
    )


def _calls(host: HostSummary) -> list[CallRow]:
    steps = max(int(host.steps.steady().sum()), 1)
    return [
        CallRow(
            host.host,
            one.place(),
            one.inner,
            one.calls / steps,
            one.host_ps / steps / PS_PER_MS,
            one.input_ps / steps / PS_PER_MS,
        )
        for one in host.evidence.frames
    ]
