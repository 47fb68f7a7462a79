"""What the trace itself lacks, so that rules can say how to record a better one."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.timeline.model import StepKind, StepSource
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, DeviceKind, Scatter

_NAMED = 8
"""Hosts that a text names."""


@metric(unit=Unit.COUNT, better=Better.LESS)
def dropped_events(question: Question) -> float:
    """Number of events that the profiler reports as lost."""
    return float(sum(host.capture.dropped for host in question.run.hosts))


@metric(unit=Unit.COUNT, better=Better.LESS)
def profiler_errors(question: Question) -> float:
    """Number of errors that the profiler wrote into the trace, over all hosts."""
    return float(sum(len(host.capture.errors) for host in question.run.hosts))


@metric(unit=Unit.FRACTION, better=Better.MORE)
def step_confidence(question: Question) -> float:
    """Confidence in where steps begin and end, on the least certain host: 1 for markers, less for inferred steps."""
    return min(host.steps.confidence for host in question.run.hosts)


@metric(unit=Unit.COUNT, better=Better.LESS, scatter=Scatter.COUNTED)
def first_steps_set_aside(question: Question) -> float:
    """Number of steps left out because they compile or warm up. Last steps that the trace cuts off do not count here."""
    kinds = [kind for host in question.run.hosts for kind in host.steps.kinds]
    return float(sum(kind in (StepKind.COMPILING, StepKind.WARM_UP) for kind in kinds))


@metric(unit=Unit.COUNT, better=Better.LESS)
def silent_accelerators(question: Question) -> float:
    """Number of GPU or TPU planes without a single event. Unused devices look the same as devices that the profiler
    could not see.
    """
    return float(sum(host.capture.empty_accelerators for host in question.run.hosts))


@metric(unit=Unit.COUNT, better=Better.LESS)
def duplicate_host_files(question: Question) -> float:
    """Number of trace files left out because another host's file is identical."""
    return float(len(question.run.duplicates))


@metric(unit=Unit.COUNT, better=Better.LESS, scatter=Scatter.COUNTED)
def unread_host_files(question: Question) -> float:
    """Number of hosts whose trace file is missing, cut short or otherwise cannot be read, while others' can."""
    return float(len(question.run.unread))


@fact
def left_out_hosts(question: Question) -> str:
    """Which hosts or files are left out of the report, by reason: `Not read: beta (is cut short: 12 of 90 bytes)`."""
    run = question.run
    kinds = (
        ("Not read", [f"{one.host} ({one.why.rstrip('.')})" for one in run.unread]),
        ("A copy of another host's file", list(run.duplicates)),
        ("Without collectives in common with most others", [run.hosts[one].host for one in run.meetings.strangers]),
    )
    said = [f"{kind}: {_some(named)}" for kind, named in kinds if named]
    if not said:
        raise MetricAbsent("no host is left out")
    return ". ".join(said)


def _some(named: list[str]) -> str:
    """The first of them, with the number of the others."""
    more = f"; and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
    return "; ".join(named[:_NAMED]) + more


@metric(unit=Unit.COUNT, better=Better.LESS, scatter=Scatter.COUNTED)
def unpaired_hosts(question: Question) -> float:
    """Number of hosts that communicate but share no collective with most others, or few: of another run, or recorded at
    another time.
    """
    return float(len(question.run.meetings.strangers))


@fact
def steps_from(question: Question) -> str:
    """What showed where the steps begin: `marker 'train'`."""
    return min(question.run.hosts, key=lambda host: host.steps.confidence).steps.about


@fact
def framework(question: Question) -> str:
    """The framework that wrote the trace: tensorflow, jax, pytorch-xla or unknown."""
    return question.run.hosts[0].capture.framework


@fact
def framework_version(question: Question) -> str:
    """The framework's version: `0.6.2`. JAX writes its own, which is jaxlib's too."""
    version = question.run.hosts[0].capture.framework_version
    if not version:
        raise MetricAbsent("the trace does not name the framework's version")
    return version


@fact
def python_tracer(question: Question) -> str:
    """Whether the profiler recorded Python frames: on or off."""
    return "on" if any(host.capture.python_tracer for host in question.run.hosts) else "off"


@fact
def device_kind(question: Question) -> str:
    """Kind of device that the run computed on: gpu, tpu or cpu."""
    kinds = {device.kind for host in question.run.hosts for device in host.devices}
    if not kinds:
        raise MetricAbsent("no device computes anything in this trace")
    place = {kind: number for number, kind in enumerate(DeviceKind)}
    return min(kinds, key=lambda kind: (kind is DeviceKind.CPU, place.get(kind, len(place)))).value


@fact
def profiler_message(question: Question) -> str:
    """The first error or warning that the profiler wrote into the trace, shortened."""
    messages = [text for host in question.run.hosts for text in (*host.capture.errors, *host.capture.warnings)]
    if not messages:
        raise MetricAbsent("the profiler wrote no message")
    return messages[0][:300]


@fact
def inferred_steps(question: Question) -> str:
    """Whether steps had to be inferred: yes or no."""
    return "no" if all(host.steps.source is StepSource.MARKER for host in question.run.hosts) else "yes"
