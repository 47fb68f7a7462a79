"""A run's summary, metrics and outcomes put together as the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.advice.evidence import NOTHING_MORE, Evidence
from tfadvisor.advice.findings import Broken, CaptureNote, Finding, Passed, Verdict
from tfadvisor.advice.judging.cause import Cause, cause_of
from tfadvisor.advice.judging.judge_rules import Fired
from tfadvisor.advice.judging.verdict import Seen, unless_asked, verdict_of
from tfadvisor.advice.loading.catalogue import Catalogue
from tfadvisor.advice.outside import of_the_run
from tfadvisor.advice.ranking import Ranking, ranked
from tfadvisor.advice.savings import calibration
from tfadvisor.arrays import median, percentile
from tfadvisor.metrics import (
    MetricAbsent,
    Metrics,
    class_shares,
    counted_hosts,
    periods_ms,
)
from tfadvisor.metrics.layers import compute_parts
from tfadvisor.report.assembly.attribution import attribution
from tfadvisor.report.assembly.own_code import with_own_lines
from tfadvisor.report.assembly.report_tables import machine_infos, run_ops
from tfadvisor.report.assembly.speed_of_light import speed_of_light
from tfadvisor.report.model import (
    AnnotatedFile,
    ClassTime,
    DeviceInfo,
    MetricValue,
    Report,
    RunInfo,
    SetAsideStep,
    StepInfo,
    StepsInfo,
    StepTimes,
    Tool,
)
from tfadvisor.report.of_the_run import other_steps
from tfadvisor.report.wording import OTHER
from tfadvisor.timeline import StepKind
from tfadvisor.timeline.attribution import NOT_RECORDED, QUEUED
from tfadvisor.timeline.names.op_path import is_optimizer
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import HostSummary
from tfadvisor.units import PS_PER_MS, percent
from tfadvisor.version import VERSION
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource

_WORTH_A_LOOK = 0.2
"""From this share of step time on, one line or layer is where to look first."""


def assemble(
    run: RunSummary,
    metrics: Metrics,
    fired: Fired,
    catalogue: Catalogue,
    evidence: Evidence = NOTHING_MORE,
    source: ProgramSource | None = None,
) -> Report:
    """The report of one run, by these rules and by what is known beside the trace.
    source: the program's files, where they are given.
    """
    breakdown = breakdown_of(run)
    attributed, no_attribution = attribution(run, source)
    light, no_light = speed_of_light(run, attributed)
    cause = cause_of(breakdown, metrics, _unseen(attributed), 1 - evidence.steps_of_run)
    ranking = ranked(fired, metrics, calibration(), evidence, cause)
    files, about_files = _files(run, source)
    steps = steps_info(run, told_hosts(run, metrics))
    return Report(
        tool=Tool("tfadvisor", VERSION),
        run=_run_info(run),
        steps=steps,
        breakdown=breakdown,
        verdict=_verdict(cause, breakdown, metrics, ranking, run, attributed, evidence),
        metrics={
            name: MetricValue(
                metric.value,
                metric.unit.value,
                metric.reason or None,
                metric.about,
                metric.better,
                metric.scatter,
            )
            for name, metric in metrics.items()
        },
        findings=with_own_lines((*ranking.findings, *ranking.last_resorts), source),
        not_applicable=ranking.not_applicable,
        capture=(
            *other_steps(evidence.account, steps),
            *_about_the_capture(ranking.findings),
            *ranking.notes,
            *about_files,
        ),
        broken=_broken(catalogue, ranking, metrics),
        passed=tuple(_passed(fired, evidence)),
        ops=run_ops(run),
        attribution=attributed,
        attribution_absent=no_attribution or None,
        speed_of_light=light,
        speed_of_light_absent=no_light or None,
        source=files or msgspec.UNSET,
        machines=machine_infos(run) or msgspec.UNSET,
        plan=ranking.plan or msgspec.UNSET,
        run_account=evidence.account,
        run_account_absent=evidence.account_absent or None,
    )


def _files(
    run: RunSummary, source: ProgramSource | None
) -> tuple[tuple[AnnotatedFile, ...], tuple[CaptureNote, ...]]:
    """The program's lines with what they cost, and notes about its files."""
    if source is None:
        return (), ()
    # few analyses read a program
    from tfadvisor.report.assembly.annotated import annotated, on_files

    files = annotated(run, source)
    return files, tuple(on_files(files, source))


def _verdict(
    cause: Cause,
    breakdown: Mapping[str, float],
    metrics: Metrics,
    ranking: Ranking,
    run: RunSummary,
    attributed: Sequence[ClassTime],
    evidence: Evidence,
) -> Verdict:
    """It rests on what the trace shows, and on no question."""
    findings = ranking.findings
    in_steps = [
        finding
        for finding in findings
        if finding.bears_verdict and not finding.is_outside
    ]
    largest = _asked(findings) or _largest(run, breakdown["compute"])
    seen = Seen(_idle_in(attributed), largest)
    of_steps = verdict_of(cause, breakdown, metrics, in_steps, seen)
    of_steps = unless_asked(of_steps, findings)
    is_part = evidence.is_of_parts(metrics.value("step_time_ms"))
    return of_the_run(of_steps, evidence.account, evidence.outside, is_part=is_part)


def _about_the_capture(findings: Sequence[Finding]) -> Iterator[CaptureNote]:
    for finding in findings:
        if finding.category == "capture" and finding.fixes:
            fix = finding.fixes[0]
            yield CaptureNote(finding.rule_id, finding.summary, fix.do, fix.snippet)


def _passed(fired: Fired, evidence: Evidence) -> Iterator[Passed]:
    """About the run, not the recording, and not contradicted by its other window, nor
    by the input that the run waits for outside of the steps that were looked at.
    """
    decided = {judged.rule.id for judged in fired.judged}
    decided.update(absent.rule_id for absent in fired.not_applicable)
    waits = any(part.category == "input" for part in evidence.outside)
    others = {"capture", "input"} if waits else {"capture"}
    for rule in fired.quiet:
        is_about_it = rule.category not in others and not rule.last_resort
        if is_about_it and rule.id not in decided:
            yield Passed(rule.id, rule.category, rule.title)


def _broken(
    catalogue: Catalogue,
    ranking: Ranking,
    metrics: Metrics,
) -> tuple[Broken, ...]:
    files = (Broken(error.file, str(error)) for error in catalogue.broken)
    numbers = (Broken(name, reason) for name, reason in metrics.broken())
    return (*files, *ranking.broken, *numbers)


_HELD = (
    "most of it with work queued that did not run: does a stream wait for another one, "
    "for a function on the host, or for another process on the same GPU?"
)


def _idle_in(attributed: Sequence[ClassTime]) -> str | None:
    """What is recorded in most of the time that is idle, as the end of a sentence;
    None where nothing is.
    """
    for kind in attributed:
        if kind.kind == TimeClass.IDLE.label and not kind.parts[0].activity.startswith(
            (NOT_RECORDED, OTHER)
        ):
            if kind.parts[0].fraction >= kind.fraction / 2:
                activity = kind.parts[0].activity
                if activity == QUEUED:
                    return _HELD
                return f"most of it during {activity}."
            return None
    return None


def _unseen(attributed: Sequence[ClassTime]) -> float:
    """The share of the step that counts as Python and of which nothing is recorded."""
    python = (
        part
        for kind in attributed
        if kind.kind == TimeClass.HOST.label
        for part in kind.parts
    )
    return sum(
        part.fraction for part in python if part.activity.startswith(NOT_RECORDED)
    )


def _asked(findings: Sequence[Finding]) -> str | None:
    """The first question about much of what is computed, and its line: it is not a
    claim, so no verdict rests on it.
    """
    for finding in findings:
        places = [
            f"{place.file}:{place.line}"
            for place in finding.locations
            if place.line is not None
        ]
        if (
            finding.is_question
            and finding.category == "compute"
            and (finding.takes or 0.0) >= _WORTH_A_LOOK
            and places
        ):
            title = f"{finding.title[0].lower()}{finding.title[1:]}"
            return f"worth checking: {title} ({places[0]})"
    return None


def _largest(run: RunSummary, compute: float) -> str | None:
    """The line or layer of the program where to look first."""
    try:
        found = compute_parts(run)
    except MetricAbsent:
        return None
    for what in ("line", "layer"):
        for name, _, ps in found.by(attrgetter(what))[:1]:
            share = ps / found.compute_ps * compute
            if share >= _WORTH_A_LOOK:
                return (
                    f"{_place_in_words(what, name)} takes {percent(share)} of the step"
                )
    return None


def _place_in_words(what: str, name: str) -> str:
    """`the layer model/dense`; an optimizer's scope is no layer."""
    if what == "layer" and is_optimizer(name):
        return f"the optimizer's update ({name})"
    return f"the {what} {name}"


def breakdown_of(run: RunSummary) -> dict[str, float]:
    """Share of step time by class; all 0 without steps."""
    try:
        shares = class_shares(run)
    except MetricAbsent:
        return {time_class.label: 0.0 for time_class in TimeClass}
    return {time_class.label: share for time_class, share in shares.items()}


def _run_info(run: RunSummary) -> RunInfo:
    first = run.hosts[0].capture
    return RunInfo(
        path=run.path,
        name=run.name,
        hosts=tuple(host.host for host in run.hosts),
        devices=tuple(
            DeviceInfo(device.name, device.kind.value, device.model, device.host)
            for host in run.hosts
            for device in host.devices
        ),
        framework=first.framework,
        framework_version=run.framework_version or None,
        captured_at=first.captured_at or None,
        window_ms=max(
            (host.capture.window[1] - host.capture.window[0]) / PS_PER_MS
            for host in run.hosts
        ),
        python_calls=any(host.capture.python_tracer for host in run.hosts),
        silent=tuple(model for host in run.hosts for model in host.capture.silent),
    )


def steps_info(
    run: RunSummary,
    listed: Sequence[HostSummary],
) -> StepsInfo:
    """The steps of a run. listed: the hosts whose steps are shown."""
    weakest = min(
        (host.steps for host in run.hosts), key=lambda steps: steps.confidence
    )
    each = tuple(step for host in listed for step in _counted(host))
    left_out = len(run.hosts) - len(listed)
    if left_out:
        more = (
            f"; each step is listed of {len(listed)} of {len(run.hosts):,} hosts, "
            "--host "
            "NAME lists another's"
        )
    else:
        more = ""
    return StepsInfo(
        count=max((host.steps.steady_count for host in run.hosts), default=0),
        source=weakest.source.value,
        confidence=weakest.confidence,
        about=weakest.about + more,
        time_ms=_times(run),
        each=each,
        set_aside=tuple(step for host in listed for step in _set_aside(host)),
    )


def _counted(host: HostSummary) -> list[StepInfo]:
    steps = host.steps
    labels = [kind.label for kind in TimeClass]
    time = np.where(host.takes_part[:, :, None], host.breakdown, 0).sum(axis=0)
    shares = (time / np.maximum(time.sum(axis=1), 1)[:, None]).tolist()
    start = (steps.starts / PS_PER_MS).tolist()
    length = ((steps.ends - steps.starts) / PS_PER_MS).tolist()
    return [
        StepInfo(
            index=index,
            name=steps.names[index],
            host=host.host,
            start_ms=start[index],
            duration_ms=length[index],
            breakdown=dict(zip(labels, shares[index], strict=True)),
        )
        for index in np.flatnonzero(steps.steady()).tolist()
    ]


def _set_aside(host: HostSummary) -> list[SetAsideStep]:
    steps = host.steps
    return [
        SetAsideStep(
            index,
            steps.names[index],
            host.host,
            float(steps.ends[index] - steps.starts[index]) / PS_PER_MS,
            kind.value,
        )
        for index, kind in enumerate(steps.kinds)
        if kind is not StepKind.STEADY
    ]


def step_ms_of(run: RunSummary) -> float:
    """The median; 0 without steps."""
    times = _times(run)
    return times.median if times is not None else 0.0


_COMPILES = 0.1
"""Of a step, which compiles if that takes so much of it."""


def compiling_of(run: RunSummary) -> float:
    """The share of the counted steps that compile for a tenth of their time and more,
    of the host where these are most; 0 without steps that are the program's.
    """
    found = [0.0]
    for host in filter(_has_own_steps, counted_hosts(run)):
        steady = host.breakdown[:, host.steps.steady()]
        time = steady.sum(axis=(0, 2))
        compiling = steady[:, :, TimeClass.COMPILE].sum(axis=0)
        if len(time) > 1:
            found.append(float((compiling >= _COMPILES * np.maximum(time, 1)).mean()))
    return max(found)


_ANOTHER_STEP = 3.0
"""Times as long as a round of the program's loop, or the other way round."""


def _has_own_steps(host: HostSummary) -> bool:
    """Whether its steps may be rounds of the program's loop, as far as these are
    known.
    """
    steps, round_ms = host.steps, host.steps.round_ms
    if not round_ms or not len(steps):
        return True
    step_ms = float(median(steps.ends - steps.starts)) / PS_PER_MS
    return max(step_ms, round_ms) < _ANOTHER_STEP * min(step_ms, round_ms)


def _times(run: RunSummary) -> StepTimes | None:
    try:
        periods = periods_ms(run)
    except MetricAbsent:
        return None
    return StepTimes(
        mean=float(periods.mean()),
        median=float(median(periods)),
        p95=float(percentile(periods, 95)),
        min=float(periods.min()),
        max=float(periods.max()),
        stdev=float(periods.std()),
    )


# The hosts of a large run whose steps the report lists one by one.

_MOST = 64


def told_hosts(
    run: RunSummary,
    metrics: Metrics,
) -> tuple[HostSummary, ...]:
    """All of up to 64; of more the one that the others wait for, the slowest, and
    others at even distances from the first on.
    """
    hosts = run.hosts
    if len(hosts) <= _MOST:
        return hosts
    late = [
        index
        for index, host in enumerate(hosts)
        if host.host == metrics.fact("late_host")
    ]
    slowest = max(range(len(hosts)), key=lambda index: _mean_period(hosts[index]))
    spread = np.linspace(0, len(hosts) - 1, _MOST).round().astype(int).tolist()
    chosen = dict.fromkeys([*late, slowest, *spread])
    return tuple(hosts[index] for index in sorted(list(chosen)[:_MOST]))


def _mean_period(host: HostSummary) -> float:
    """ps; 0 without a counted step."""
    period = (host.steps.ends - host.steps.starts)[host.steps.steady()]
    return float(period.mean()) if len(period) else 0.0
