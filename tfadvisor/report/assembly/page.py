"""What the page draws beyond the report, from the run's timeline."""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics import (
    MetricAbsent,
    counted_hosts,
    registered_facts,
    registered_metrics,
)
from tfadvisor.metrics.copies import copy_rates
from tfadvisor.report.assembly.page_programs import (
    excerpt_rows,
    memory_infos,
    part_rows,
    peaks_info,
    program_memories,
)
from tfadvisor.report.assembly.report_tables import run_ops
from tfadvisor.report.assembly.rows import collectives_by_name, devices_by_name
from tfadvisor.report.forms.page_data import (
    CallRow,
    CopyRow,
    DrawnStep,
    LaneInfo,
    PageData,
    PipelineInfo,
    StageRow,
)
from tfadvisor.report.model import Report
from tfadvisor.timeline.host import InputStage
from tfadvisor.timeline.names.device_events import instruction_name
from tfadvisor.timeline.picture import Lane, StepPicture
from tfadvisor.timeline.run import RunSummary
from tfadvisor.units import PS_PER_MS

_MOST_OPS = 20_000
_MOST_COLLECTIVES = 2_000
_MOST_CELLS = 20_000
"""Of devices times steps; more are thinned out to every n-th step."""
_SETTING_TYPES = (str, int, float, bool)


def gather_page(report: Report, run: RunSummary) -> PageData:
    """The run must have been read in detail, else no step is drawn."""
    drawn, more, left_out = drawn_steps(run)
    collectives = collectives_by_name(run)
    return PageData(
        report=report,
        ops=run_ops(run, _MOST_OPS),
        collectives=collectives[:_MOST_COLLECTIVES],
        devices=devices_by_name(run, _MOST_CELLS),
        pipelines=_pipelines(run),
        calls=_calls(run),
        drawn=drawn,
        hosts_left_out=left_out,
        more=more,
        parts=part_rows(run),
        peaks=peaks_info(run),
        excerpts=excerpt_rows(run),
        memory=memory_infos(run),
        programs=program_memories(run),
        copies=_copies(report, run),
        metric_modules=_modules(report),
        facts=_facts(report),
    )


def _modules(report: Report) -> dict[str, str]:
    """Of each metric the name of the module that computes it."""
    found = {}
    known = registered_metrics()
    for name in report.metrics:
        if name in known:
            module = known[name].compute.__module__
            found[name] = module.rpartition(".")[2]
    return found


def _facts(report: Report) -> dict[str, str]:
    """What the facts mean that are evidence of a finding."""
    named = set()
    for finding in report.findings:
        for evidence in finding.evidence:
            if not evidence.metric:
                named.add(evidence.text.replace(" ", "_"))

    facts = registered_facts()
    return {name: facts[name].about for name in facts if name in named}


def _pipelines(run: RunSummary) -> tuple[PipelineInfo, ...]:
    found = []
    for host in run.hosts:
        pipeline = host.evidence.pipeline
        if pipeline is not None:
            steps = max(pipeline.steps, 1)
            stages = [_stage(stage, steps) for stage in pipeline.stages]
            found.append(PipelineInfo(host.host, tuple(stages)))
    return tuple(found)


def _stage(stage: InputStage, steps: int) -> StageRow:
    settings = {}
    for key, value in stage.settings.items():
        if isinstance(value, _SETTING_TYPES):
            settings[key] = str(value)
    return StageRow(
        path=stage.path,
        kind=stage.kind,
        name=stage.name,
        calls_per_step=stage.calls / steps,
        ms_per_step=stage.busy_ps / steps / PS_PER_MS,
        wall_ms=stage.wall_ps / steps / PS_PER_MS,
        parallelism=stage.parallelism,
        python=stage.python,
        settings=settings,
    )


def _copies(report: Report, run: RunSummary) -> tuple[CopyRow, ...]:
    try:
        rates = copy_rates(run)
    except MetricAbsent:
        return ()
    lines = {}
    for of_class in report.attribution:
        for activity in of_class.parts:
            place = activity.places[0] if activity.places else None
            if place is not None and place.file and place.line is not None:
                lines[activity.activity] = f"{place.file}:{place.line}"
    return tuple(
        CopyRow(
            way=rate.way,
            ms_per_step=rate.ms,
            bytes_per_step=rate.bytes,
            gb_s=rate.gb_s,
            meaning=rate.meaning,
            line=lines.get(rate.way, ""),
        )
        for rate in rates
    )


def _calls(run: RunSummary) -> tuple[CallRow, ...]:
    rows = []
    for host in counted_hosts(run):
        steps = max(host.steps.steady_count, 1)
        for frame in host.evidence.frames:
            rows.append(
                CallRow(
                    host.host,
                    frame.place(),
                    frame.inner,
                    frame.calls / steps if frame.calls else None,
                    frame.host_ps / steps / PS_PER_MS,
                    frame.input_ps / steps / PS_PER_MS,
                )
            )
    return tuple(rows)


# The steps that the page draws: the median and the worst at once, the others when they
# are asked for.

_MOST_EVENTS = 120_000
_PS_PER_NS = 1_000


def drawn_steps(
    run: RunSummary,
) -> tuple[tuple[DrawnStep, ...], tuple[DrawnStep, ...], int]:
    """(median and worst of each host as long as the page stays light, all others, how
    many hosts are left out).
    """
    found: list[DrawnStep] = []
    others: list[DrawnStep] = []
    left = _MOST_EVENTS
    left_out = 0
    offsets = run.meetings.clocks.offset_ps
    for host, offset in zip(run.hosts, offsets, strict=True):
        first: list[DrawnStep] = []
        rest: list[DrawnStep] = []
        for picture in host.evidence.pictures:
            step = drawn_step(host.host, picture, offset)
            (rest if picture.which == "other" else first).append(step)

        others += rest
        size = sum(len(step.lane) for step in first)
        if size > left:
            left_out += 1
            others += first
        else:
            left -= size
            found += first
    return tuple(found), tuple(others), left_out


def drawn_step(
    host: str,
    picture: StepPicture,
    offset_ps: int | None,
) -> DrawnStep:
    """offset_ps: of the host's clock, None where that is not known."""
    rows = picture.rows
    start = rows.start // _PS_PER_NS
    end = (rows.start + rows.length) // _PS_PER_NS
    at_ns = None
    if offset_ps is not None:
        at_ns = (picture.start_ps - offset_ps) // _PS_PER_NS

    return DrawnStep(
        host=host,
        which=picture.which,
        index=picture.index,
        at_ns=at_ns,
        span_ns=picture.span_ps // _PS_PER_NS,
        lanes=tuple(_lane(lane) for lane in picture.lanes),
        lane=rows.lane.astype(np.int64),
        depth=rows.depth.astype(np.int64),
        start=start,
        length=end - start,
        kind=rows.kind.astype(np.int64),
        name=rows.name.astype(np.int64),
        events=rows.events,
        busy=rows.busy // _PS_PER_NS,
        launch=rows.launch,
        names=tuple(map(_shown, rows.names)),
        threads_left_out=picture.threads_left_out,
    )


def _lane(lane: Lane) -> LaneInfo:
    around = tuple(map(_shown, lane.around))
    return LaneInfo(
        lane.role,
        lane.device,
        lane.name,
        around,
        lane.deeper,
    )


def _shown(name: str) -> str:
    """`copy-done.4` of an instruction's whole text, `program.py:53 train` of
    `$program.py:53 train`.
    """
    if name.startswith("%"):
        return instruction_name(name)
    return name.removeprefix("$")
