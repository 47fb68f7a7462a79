"""What the page draws beyond the report, from the run's timeline."""

from __future__ import annotations

from tfadvisor.assembly.ops import run_ops
from tfadvisor.assembly.page_drawn import drawn_steps
from tfadvisor.assembly.page_programs import (
    excerpt_rows,
    memory_infos,
    part_rows,
    peaks_info,
    program_memories,
)
from tfadvisor.metrics.collectives.by_name import collectives_by_name
from tfadvisor.metrics.registry import registered_facts, registered_metrics
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.metrics.time.by_device import devices_by_name
from tfadvisor.report.model import Report
from tfadvisor.report.page.model import (
    CallRow,
    PageData,
    PipelineInfo,
    StageRow,
)
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.timeline.summary.host import HostSummary
from tfadvisor.units import PS_PER_MS

_MOST_OPS = 20_000
_MOST_COLLECTIVES = 2_000
_MOST_CELLS = 20_000
"""Of devices times steps; more are thinned out to every n-th step."""
_SETTING_TYPES = (str, int, float, bool)


def gather_page(report: Report, run: RunSummary) -> PageData:
    """The run must have been read in detail, else no step is drawn."""
    drawn, more, left_out = drawn_steps(run)
    return PageData(
        report=report,
        ops=run_ops(run, _MOST_OPS),
        collectives=collectives_by_name(run)[:_MOST_COLLECTIVES],
        devices=devices_by_name(run, _MOST_CELLS),
        pipelines=tuple(_pipeline(host) for host in run.hosts if host.evidence.pipeline is not None),
        calls=tuple(row for host in counted_hosts(run) for row in _calls(host)),
        drawn=drawn,
        hosts_left_out=left_out,
        more=more,
        parts=part_rows(run),
        peaks=peaks_info(run),
        excerpts=excerpt_rows(run),
        memory=memory_infos(run),
        programs=program_memories(run),
        metric_groups=_metric_groups(report),
        facts=_facts(report),
    )


def _metric_groups(report: Report) -> dict[str, str]:
    """The folder that each metric's function lies in."""
    known = registered_metrics()
    module = {name: known[name].compute.__module__ for name in report.metrics if name in known}
    return {name: one.removeprefix("tfadvisor.metrics.").partition(".")[0] for name, one in module.items()}


def _facts(report: Report) -> dict[str, str]:
    named = {one.text.replace(" ", "_") for finding in report.findings for one in finding.evidence if not one.metric}
    return {name: fact.about for name, fact in registered_facts().items() if name in named}


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
