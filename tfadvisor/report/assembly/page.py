"""What the page draws beyond the report, from the run's timeline."""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics.registry import registered_facts, registered_metrics
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.printable import short_kernel
from tfadvisor.report.assembly.page_programs import (
    excerpt_rows,
    memory_infos,
    part_rows,
    peaks_info,
    program_memories,
)
from tfadvisor.report.assembly.parts import run_ops
from tfadvisor.report.assembly.rows import collectives_by_name, devices_by_name
from tfadvisor.report.forms.page_data import (
    CallRow,
    DrawnStep,
    LaneInfo,
    PageData,
    PipelineInfo,
    StageRow,
)
from tfadvisor.report.model import Report
from tfadvisor.timeline.names.device_events import instruction_name
from tfadvisor.timeline.picture.step_picture import StepPicture
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.timeline.summary.host_summary import HostSummary
from tfadvisor.units import PS_PER_MS

_MOST_OPS = 20_000
_MOST_COLLECTIVES = 2_000
_MOST_CELLS = 20_000
"""Of devices times steps; more are thinned out to every n-th step."""
_SETTING_TYPES = (str, int, float, bool)


def gather_page(report: Report, run: RunSummary) -> PageData:
    """The run must have been read in detail, else no step is drawn."""
    drawn, more, left_out = drawn_steps(run)
    known = registered_metrics()
    return PageData(
        report=report,
        ops=run_ops(run, _MOST_OPS),
        collectives=collectives_by_name(run)[:_MOST_COLLECTIVES],
        devices=devices_by_name(run, _MOST_CELLS),
        pipelines=tuple(
            _pipeline(host) for host in run.hosts if host.evidence.pipeline is not None
        ),
        calls=tuple(row for host in counted_hosts(run) for row in _calls(host)),
        drawn=drawn,
        hosts_left_out=left_out,
        more=more,
        parts=part_rows(run),
        peaks=peaks_info(run),
        excerpts=excerpt_rows(run),
        memory=memory_infos(run),
        programs=program_memories(run),
        metric_modules={
            name: known[name].compute.__module__.rpartition(".")[2]
            for name in report.metrics
            if name in known
        },
        facts=_facts(report),
    )


def _facts(report: Report) -> dict[str, str]:
    named = {
        one.text.replace(" ", "_")
        for finding in report.findings
        for one in finding.evidence
        if not one.metric
    }
    return {
        name: fact.about for name, fact in registered_facts().items() if name in named
    }


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
                    key: str(value)
                    for key, value in stage.settings.items()
                    if isinstance(value, _SETTING_TYPES)
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
            one.calls / steps if one.calls else None,
            one.host_ps / steps / PS_PER_MS,
            one.input_ps / steps / PS_PER_MS,
        )
        for one in host.evidence.frames
    ]


# The steps that the page draws: the median and the worst at once, the others when they
# are asked for.

_MOST_EVENTS = 24_000
_PS_PER_NS = 1_000


def drawn_steps(
    run: RunSummary,
) -> tuple[tuple[DrawnStep, ...], tuple[DrawnStep, ...], int]:
    """(median and worst of each host as long as the page stays light, all others, how
    many hosts are left out).
    """
    found: list[DrawnStep] = []
    others: list[DrawnStep] = []
    left, left_out = _MOST_EVENTS, 0
    for host, offset in zip(run.hosts, run.meetings.clocks.offset_ps, strict=True):
        first = [one for one in host.evidence.pictures if one.which != "other"]
        rest = [one for one in host.evidence.pictures if one.which == "other"]
        others += [drawn_step(host.host, one, offset) for one in rest]
        size = sum(len(one.rows) for one in first)
        if size > left:
            left_out += 1
            others += [drawn_step(host.host, one, offset) for one in first]
        else:
            left -= size
            found += [drawn_step(host.host, one, offset) for one in first]
    return tuple(found), tuple(others), left_out


def drawn_step(host: str, picture: StepPicture, offset_ps: int | None) -> DrawnStep:
    """offset_ps: of the host's clock, None where that is not known."""
    rows = picture.rows
    on_device = np.array([one.role == "stream" for one in picture.lanes], np.bool_)[
        rows.lane
    ]
    kernels = {
        *np.unique(rows.name[on_device]).tolist()
    }  # their launches on the host bear the same names
    start, end = rows.start // _PS_PER_NS, (rows.start + rows.length) // _PS_PER_NS
    return DrawnStep(
        host=host,
        which=picture.which,
        index=picture.index,
        at_ns=None
        if offset_ps is None
        else (picture.start_ps - offset_ps) // _PS_PER_NS,
        span_ns=picture.span_ps // _PS_PER_NS,
        lanes=tuple(
            LaneInfo(
                one.role,
                one.device,
                one.name,
                tuple(_shown(call, kernel=False) for call in one.around),
                one.deeper,
            )
            for one in picture.lanes
        ),
        lane=rows.lane.astype(np.int64),
        depth=rows.depth.astype(np.int64),
        start=start,
        length=end - start,
        kind=rows.kind.astype(np.int64),
        name=rows.name.astype(np.int64),
        events=rows.events,
        busy=rows.busy // _PS_PER_NS,
        names=tuple(
            _shown(name, kernel=at in kernels) for at, name in enumerate(rows.names)
        ),
        threads_left_out=picture.threads_left_out,
    )


def _shown(name: str, *, kernel: bool) -> str:
    """`copy-done.4` of an instruction's whole text, a kernel's short name,
    `program.py:53 train` of `$program.py:53 train`.
    """
    if name.startswith("%"):
        return instruction_name(name)
    return (
        short_kernel(name) if kernel and " = " not in name else name.removeprefix("$")
    )
