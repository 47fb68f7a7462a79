"""What the page draws beyond the report, from the run's timeline."""

from __future__ import annotations

import numpy as np

from tfadvisor.assembly.ops import run_ops
from tfadvisor.metrics.collectives.by_name import collectives_by_name
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.metrics.time.by_device import devices_by_name
from tfadvisor.report.model import Report
from tfadvisor.report.page.model import (
    CallRow,
    DrawnStep,
    LaneInfo,
    PageData,
    PipelineInfo,
    StageRow,
)
from tfadvisor.timeline.names.devices import instruction_name
from tfadvisor.timeline.picture.step_picture import StepPicture
from tfadvisor.timeline.run.run_timeline import RunTimeline
from tfadvisor.timeline.summary.host import HostSummary
from tfadvisor.units import PS_PER_MS

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
        collectives=collectives_by_name(run)[:_MOST_COLLECTIVES],
        devices=devices_by_name(run, _MOST_CELLS),
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
