"""What the trace itself lacks, so that rules can say how to record a better one."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.timeline.model import StepKind, StepSource
from tfadvisor.units import Unit
from tfadvisor.vocabulary import DeviceKind


@metric("dropped_events", unit=Unit.COUNT, about="Events that the profiler reports as lost; 0 when it reports none.")
def dropped_events(question: Question) -> float:
    """From the warnings in the file."""
    return float(sum(host.capture.dropped for host in question.run.hosts))


@metric("profiler_errors", unit=Unit.COUNT, about="Errors that the profiler wrote into the trace.")
def profiler_errors(question: Question) -> float:
    """Their number, over all hosts."""
    return float(sum(len(host.capture.errors) for host in question.run.hosts))


@metric("step_confidence", unit=Unit.FRACTION, about="How sure the steps are: 1 for markers, less for inferred steps.")
def step_confidence(question: Question) -> float:
    """Of the least sure host."""
    return min(host.steps.confidence for host in question.run.hosts)


@metric("first_steps_set_aside", unit=Unit.COUNT, about="Steps left out because they compile or warm up.")
def first_steps_set_aside(question: Question) -> float:
    """Cut-off last steps are not counted here."""
    kinds = [kind for host in question.run.hosts for kind in host.steps.kinds]
    return float(sum(kind in (StepKind.COMPILING, StepKind.WARM_UP) for kind in kinds))


@metric("silent_accelerators", unit=Unit.COUNT, about="GPU or TPU planes without a single event.")
def silent_accelerators(question: Question) -> float:
    """Unused devices and devices that the profiler could not see look the same."""
    return float(sum(host.capture.empty_accelerators for host in question.run.hosts))


@metric("duplicate_host_files", unit=Unit.COUNT, about="Trace files left out because another host's file is identical.")
def duplicate_host_files(question: Question) -> float:
    """0 when all files differ."""
    return float(len(question.run.duplicates))


@fact("duplicate_file", about="The first trace file that is a copy of another host's.")
def duplicate_file(question: Question) -> str:
    """Its name."""
    if not question.run.duplicates:
        raise MetricAbsent("all trace files differ")
    return question.run.duplicates[0]


@fact("step_source", about="How the steps were found.")
def step_source(question: Question) -> str:
    """marker, module, launch-pattern, host-loop or whole-trace, of the least sure host."""
    return min(question.run.hosts, key=lambda host: host.steps.confidence).steps.source.value


@fact("steps_from", about="What the steps were told by.")
def steps_from(question: Question) -> str:
    """`marker 'train'`."""
    return min(question.run.hosts, key=lambda host: host.steps.confidence).steps.about


@fact("framework", about="The framework that wrote the trace.")
def framework(question: Question) -> str:
    """tensorflow, jax, pytorch-xla or unknown."""
    return question.run.hosts[0].capture.framework


@fact("framework_version", about="The framework's version; JAX writes its own into the trace, which is jaxlib's too.")
def framework_version(question: Question) -> str:
    """`0.6.2`."""
    version = question.run.hosts[0].capture.framework_version
    if not version:
        raise MetricAbsent("the trace does not tell the framework's version")
    return version


@fact("python_tracer", about="Whether Python frames were recorded.")
def python_tracer(question: Question) -> str:
    """on or off."""
    return "on" if any(host.capture.python_tracer for host in question.run.hosts) else "off"


@fact("device_kind", about="What the run computed on.")
def device_kind(question: Question) -> str:
    """gpu, tpu or cpu. Of several kinds the first in the order of DeviceKind; the CPU comes after every other one."""
    kinds = {device.kind for host in question.run.hosts for device in host.devices}
    if not kinds:
        raise MetricAbsent("no device computes anything in this trace")
    place = {kind: number for number, kind in enumerate(DeviceKind)}
    return min(kinds, key=lambda kind: (kind is DeviceKind.CPU, place.get(kind, len(place)))).value


@fact("profiler_message", about="The first error or warning that the profiler wrote into the trace.")
def profiler_message(question: Question) -> str:
    """Its text, shortened."""
    messages = [text for host in question.run.hosts for text in (*host.capture.errors, *host.capture.warnings)]
    if not messages:
        raise MetricAbsent("the profiler wrote no message")
    return messages[0][:300]


@fact("inferred_steps", about="Whether steps had to be guessed.")
def inferred_steps(question: Question) -> str:
    """yes or no."""
    return "no" if all(host.steps.source is StepSource.MARKER for host in question.run.hosts) else "yes"
