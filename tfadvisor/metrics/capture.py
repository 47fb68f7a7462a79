"""What the trace lacks, so that rules can say how to record a better one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tfadvisor.arrays import median
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import (
    class_shares,
    counted_hosts,
    counted_ps,
    gpus,
    known_steps,
    periods_ms,
)
from tfadvisor.timeline import Capture, StepKind, StepSource
from tfadvisor.timeline.names import stats
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.host_events import calls_function
from tfadvisor.units import PS_PER_US, Unit
from tfadvisor.vocabulary import Better, DeviceKind, Scatter, TimeClass

_NAMED = 8
"""Hosts that a text names."""


@metric(unit=Unit.COUNT)
def dropped_events(question: Question) -> float:
    """Number of events that the profiler reports as lost."""
    return float(sum(host.capture.dropped for host in question.run.hosts))


@metric(unit=Unit.COUNT)
def profiler_errors(question: Question) -> float:
    """Number of errors that the profiler wrote into the trace, over all hosts."""
    return float(sum(len(host.capture.errors) for host in question.run.hosts))


@metric(better=Better.MORE)
def step_confidence(question: Question) -> float:
    """Confidence in where steps begin and end, on the least certain host: 1 for
    markers, less for inferred steps.
    """
    return min(host.steps.confidence for host in question.run.hosts)


@metric(unit=Unit.COUNT, scatter=Scatter.COUNTED)
def first_steps_set_aside(question: Question) -> float:
    """Number of steps left out because they compile or warm up. Last steps that the
    trace cuts off do not count here.
    """
    kinds = [kind for host in question.run.hosts for kind in host.steps.kinds]
    return float(sum(kind in (StepKind.COMPILING, StepKind.WARM_UP) for kind in kinds))


@metric(unit=Unit.COUNT)
def silent_accelerators(question: Question) -> float:
    """Number of GPU or TPU planes without a single event. Unused devices look the same
    as devices that the profiler could not see.
    """
    return float(sum(len(host.capture.silent) for host in question.run.hosts))


@metric(unit=Unit.COUNT, better=Better.NEITHER)
def copying_accelerators(question: Question) -> float:
    """Number of GPUs or TPUs that only copy in this trace: to or from the host or
    another device. No share of step time is about them.
    """
    return float(sum(len(host.copying) for host in question.run.hosts))


@fact
def graphs_while_recording(question: Question) -> str:
    """`off` where XLA ran its CUDA graphs kernel by kernel because it was profiled, as
    its own events say; else `as usual`.
    """
    if any(host.capture.graphs_off for host in question.run.hosts):
        return "off"
    return "as usual"


@metric(unit=Unit.COUNT, scatter=Scatter.COUNTED)
def unread_host_files(question: Question) -> float:
    """Number of hosts whose trace file is missing, cut short or otherwise cannot be
    read, while others' can.
    """
    return float(len(question.run.unread))


@fact
def left_out_hosts(question: Question) -> str:
    """Which hosts or files are left out of the report, by reason: `Not read: beta (is
    cut short: 12 of 90 bytes)`.
    """
    run = question.run
    kinds = (
        (
            "Not read",
            [f"{unread.host} ({unread.why.rstrip('.')})" for unread in run.unread],
        ),
        ("A copy of another host's file", list(run.duplicates)),
        (
            "Without collectives in common with most others",
            [run.hosts[stranger].host for stranger in run.meetings.strangers],
        ),
    )
    said = [f"{kind}: {_some(named)}" for kind, named in kinds if named]
    if not said:
        raise MetricAbsent("no host is left out")
    return ". ".join(said)


def _some(named: list[str]) -> str:
    """The first of them, with the number of the others."""
    more = f"; and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
    return "; ".join(named[:_NAMED]) + more


def _first(texts: Iterable[str], absent: str) -> str:
    """The first that is not empty. Raises MetricAbsent, with the reason, where
    all are.
    """
    found = next(filter(None, texts), None)
    if found is None:
        raise MetricAbsent(absent)
    return found


_CONCURRENT = "2024-03-18"
"""From this day on XLA's profiler traces kernels of several streams at the same time
(jax commit 0e1b3e5ba6), and writes when.
"""


@metric
def kernels_in_turn_fraction(question: Question) -> float:
    """Share of the kernels' time on an NVIDIA GPU outside of its busiest stream, where
    the trace is of before March 2024, when the profiler by default let no two kernels
    run at the same time, and none do.
    """
    found = [
        device.in_turn
        for host, device in gpus(question.run)
        if _is_serial(host.capture, device.properties)
    ]
    if not any(found):
        raise MetricAbsent(
            "kernels run at the same time, or the profiler was no old one, or each "
            "GPU used one stream"
        )
    return max(found)


def _is_serial(capture: Capture, properties: Mapping[str, object]) -> bool:
    if properties.get(stats.DEVICE_VENDOR, stats.NVIDIA) != stats.NVIDIA:
        return False
    unnamed = (
        capture.framework == "tensorflow" and stats.GPU_DEVICE_NAME not in properties
    )
    return capture.captured_at < _CONCURRENT if capture.captured_at else unnamed


@fact
def steps_from(question: Question) -> str:
    """What showed where the steps begin where no marker did: `calls of train_step`."""
    if all(host.steps.source is StepSource.MARKER for host in question.run.hosts):
        raise MetricAbsent("markers show where the steps begin")
    steps = min(question.run.hosts, key=lambda host: host.steps.confidence).steps
    if steps.source is StepSource.WHOLE_TRACE:
        return f"the whole trace, {steps.about}"
    return steps.about


@fact
def step_fragment(question: Question) -> str:
    """What shows that the counted steps are pieces: `each reads 393 variables and
    multiplies none of them`.
    """
    fragments = (host.capture.fragment for host in question.run.hosts)
    return _first(fragments, "nothing shows that parts of the steps were not recorded")


@fact
def framework(question: Question) -> str:
    """The framework that wrote the trace: tensorflow, jax, pytorch-xla or unknown."""
    return question.run.hosts[0].capture.framework


@fact
def framework_version(question: Question) -> str:
    """The framework's version: `0.6.2`. JAX writes its own, which is jaxlib's too."""
    if version := question.run.framework_version:
        return version
    raise MetricAbsent(
        "neither the trace nor a machine recorded beside it names the framework's "
        "version"
    )


@fact
def python_tracer(question: Question) -> str:
    """Whether the profiler recorded Python frames: on or off."""
    if any(host.capture.python_tracer for host in question.run.hosts):
        return "on"
    return "off"


@fact
def device_kind(question: Question) -> str:
    """Kind of device that the run computed on: gpu, tpu or cpu."""
    kinds = {device.kind for host in question.run.hosts for device in host.devices}
    if not kinds:
        raise MetricAbsent("no device computes anything in this trace")
    place = {kind: number for number, kind in enumerate(DeviceKind)}
    return min(
        kinds,
        key=lambda kind: (kind is DeviceKind.CPU, place.get(kind, len(place))),
    ).value


@fact
def profiler_message(question: Question) -> str:
    """The first error or warning that the profiler wrote into the trace, shortened."""
    messages = (
        text
        for host in question.run.hosts
        for text in (*host.capture.errors, *host.capture.warnings)
    )
    return _first(messages, "the profiler wrote no message")[:300]


# Which libraries a program is written with, so that a fix can be given in their words.


@fact
def keras_sign(question: Question) -> str:
    """The name in the trace that proves Keras' own training loop: `EagerLocalExecute:
    __inference_one_step_on_data_310`.
    """
    names = (host.evidence.libraries.keras for host in question.run.hosts)
    return _first(names, "no name in the trace is of Keras' training loop")


@fact
def keras_runs(question: Question) -> str:
    """How Keras' own training loop runs its steps: `compiled` where keras_sign is a
    function that it compiled, or `op by op`.
    """
    return "compiled" if calls_function(keras_sign(question)) else "op by op"


@fact
def entry(question: Question) -> str:
    """The call that runs the steps: a method of Keras (fit, train_on_batch, predict and
    the like, or keras where only that is known), else strategy.run, tf.function or jit,
    called by a loop of the program.
    """
    found = (host.evidence.libraries.entry for host in question.run.hosts)
    return _first(found, "no name in the trace tells what runs the steps")


@fact
def py_dataset_sign(question: Question) -> str:
    """The name in the trace that proves that Keras takes its batches from a PyDataset,
    or a Sequence in Keras 2: `py_dataset_adapter.py:241 get`; or in samples of the run.
    """
    account = question.settings.account
    if account is not None and account.pipeline and account.pipeline.adapter:
        return account.pipeline.adapter
    names = (host.evidence.libraries.py_dataset for host in question.run.hosts)
    return _first(names, "no name in the trace is of a PyDataset or Sequence of Keras")


# What recording itself adds to a step.

_GAPS_A_FRAME, _FRAME_US = 5, 0.2
"""What recording a Python frame takes: so many of the shortest gaps between two begins
or ends, since the hook works after it has read the clock and keeps Python from its fast
paths; in µs where few frames were recorded.
"""
_EVENT_US = 1.0
"""What recording any other event takes."""
OF_UPDATES = 0.75
"""What recording takes of the time in updates of CUDA graphs, since CUPTI follows each
of their kernels. All three by the steps of 62 programs with the profiler and without,
and of 27 that wait for the host of an H200.
"""
_ON_DEVICES = (TimeClass.COMPUTE, TimeClass.COLLECTIVE, TimeClass.TRANSFER)
_ANOTHER_STEP = 2.0
"""From this factor on a round of the loop is another step than that of the trace."""


@metric(needs=(known_steps,))
def tracer_fraction(question: Question) -> float:
    """Share of step time that recording the driving thread takes. On accelerators by
    the loop's rounds while nothing was recorded, where `tfadvisor run` measured them.
    Else estimated from what was recorded: for a Python frame five times the shortest
    gaps between two, 1 µs for any other event, and three quarters of the updates of
    CUDA graphs. On accelerators no more than the time in which none works.
    """
    hosts = counted_hosts(question.run)
    spent = sum(_recording_ps(host.capture) for host in hosts)
    estimated = min(spent / max(sum(map(counted_ps, hosts)), 1), 1.0)
    devices = (device for host in hosts for device in host.devices)
    if all(device.kind is DeviceKind.CPU for device in devices):
        return estimated  # recording is part of what the cores do
    measured = _longer_than_rounds(question)
    shares = class_shares(question.run)
    working = sum(shares[kind] for kind in _ON_DEVICES)
    return min(estimated if measured is None else measured, max(1 - working, 0.0))


def _longer_than_rounds(question: Question) -> float | None:
    """None where no round was measured, or one of another loop."""
    account = question.settings.account
    if account is None or account.step_ms is None:
        return None
    recorded = float(median(periods_ms(question.run)))
    ratio = account.step_ms / recorded if recorded else 0.0
    is_same = 1 / _ANOTHER_STEP < ratio < _ANOTHER_STEP
    return max(1 - ratio, 0.0) if is_same else None


def _recording_ps(capture: Capture) -> float:
    events = capture.events
    frame = _GAPS_A_FRAME * events.frame_gap_ps or _FRAME_US * PS_PER_US
    others = _EVENT_US * PS_PER_US * events.others
    return frame * events.frames + others + OF_UPDATES * events.updates_ps


# What the trace lacks of the devices' work, and what of it is the capture's own.


@fact
def unrecorded_device(question: Question) -> str:
    """What on a host shows that an accelerator worked although the trace holds none of
    its events, as a clause: `the allocator GPU_0_bfc gave out memory`.
    """
    proofs = (host.capture.unrecorded.proof for host in question.run.hosts)
    return _first(
        proofs,
        "the trace holds the work of every accelerator that its hosts show at work",
    )


@fact
def unused_device(question: Question) -> str:
    """The GPU that the machine has and TensorFlow did not use: its plane is empty,
    nothing shows it at work, and the model's products and updates ran on the cores.
    """
    for host in question.run.hosts:
        capture = host.capture
        unused = capture.silent and capture.computes and not capture.unrecorded.proof
        if unused and capture.framework == "tensorflow":
            return capture.silent[0] or "of unknown model"
    raise MetricAbsent("no GPU stands unused beside cores that TensorFlow computes on")


_OBSTACLES = (
    ("privilege", ("privilege", "permission")),
    ("profiler", ("multiple_subscribers", "another profiler", "already in use")),
    ("library", ("libcupti", "failed to load", "could not load", "not found")),
)
"""What the profiler's message says, in lower case."""


@fact
def recording_obstacle(question: Question) -> str:
    """Why the profiler could not record a GPU, by its own message: `privilege`,
    `profiler` (another one holds CUPTI), `library` (CUPTI was not found), else
    `unknown`.
    """
    try:
        message = profiler_message(question).lower()
    except MetricAbsent:
        return "unknown"
    found = (
        obstacle
        for obstacle, words in _OBSTACLES
        if any(word in message for word in words)
    )
    return next(found, "unknown")


@fact
def recorded_on(question: Question) -> str:
    """The system that the trace is of, by the names of its threads: `windows` or
    `another`.
    """
    on_windows = any(host.capture.on_windows for host in question.run.hosts)
    return "windows" if on_windows else "another"


@metric
def lost_launches_fraction(question: Question) -> float:
    """Share of the hosts' kernel launches that no event on a device answers, over the
    whole trace. Launches and events are matched by correlation id.
    """
    hosts = [host.capture.unrecorded for host in question.run.hosts]
    launches = sum(unrecorded.launches for unrecorded in hosts)
    if not launches:
        raise MetricAbsent(
            "the trace shows no launches of single kernels that could be compared "
            "with their executions"
        )
    return sum(unrecorded.launches_lost for unrecorded in hosts) / launches


@metric
def lost_runs_fraction(question: Question) -> float:
    """Share of the runs of XLA programs launched by the hosts that no device shows,
    over the whole trace.
    """
    hosts = [host.capture.unrecorded for host in question.run.hosts]
    runs = sum(unrecorded.runs for unrecorded in hosts)
    if not runs:
        raise MetricAbsent("the trace does not show when the hosts launch XLA programs")
    return sum(unrecorded.runs_lost for unrecorded in hosts) / runs


@metric
def unnamed_op_share(question: Question) -> float:
    """Share of the counted steps' compute, summed over events, in programs whose ops
    the trace does not name: it tells when the program runs, and its name.
    """
    unnamed = total = 0
    for host in question.run.hosts:
        for device in host.devices:
            rows = device.ops.of_class(DeviceClass.COMPUTE)
            total += int(device.ops.total_ps[rows].sum())
            unnamed += int(
                device.ops.total_ps[rows][device.ops.whole_programs()[rows]].sum()
            )
    if not total:
        raise MetricAbsent("no op begins in a counted step")
    return unnamed / total
