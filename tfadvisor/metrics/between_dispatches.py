"""What the host does between dispatches: Python, calls that repeat, tracing and
compiling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import (
    a_device,
    accelerators,
    an_accelerator,
    counted_hosts,
    counted_ps,
    counted_steps,
    known_steps,
    share,
    spent,
)
from tfadvisor.metrics.step_arguments import share_of_arguments
from tfadvisor.tallies import added_up
from tfadvisor.timeline.host import Compiled, FrameShare, HostCost, StepPython
from tfadvisor.timeline.names.classes import DeviceClass, is_keras_step
from tfadvisor.timeline.summary import HostSummary
from tfadvisor.units import PS_PER_MS, Unit, percent
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    from tfadvisor.program.arguments_differ import Differing
    from tfadvisor.program.recompiled import Recompilation

_SEVERAL = 1.5
"""Calls a step from which these are several, where some steps make one more."""


def _costliest_frames(question: Question) -> list[FrameShare]:
    """Calls of the training loop that neither load nor dispatch, the costliest
    first.
    """
    frames = [
        frame
        for host in question.run.hosts
        for frame in host.evidence.frames
        if frame.host_ps >= frame.input_ps
    ]
    return sorted(frames, key=lambda frame: -frame.host_ps)


@fact
def host_frame(question: Question) -> str:
    """The call of the training loop that takes most host time, with its place:
    `log_metrics (train.py:57)`. For a call of a library it is the user's own function
    below it, else the one that makes the call.
    """
    frames = _costliest_frames(question)
    if not frames:
        raise MetricAbsent("the trace holds no Python frames")
    return frames[0].place()


@fact
def host_frame_runs_step(question: Question) -> str:
    """Whether host_frame is the training step itself, known by the step's dispatch
    inside it: yes or no.
    """
    frames = _costliest_frames(question)
    if not frames:
        raise MetricAbsent("the trace holds no Python frames")
    return "yes" if frames[0].runs_step else "no"


@fact
def longest_host_calls(question: Question) -> str:
    """The longest calls of the training loop that load no data, with their shares of
    step time, as a sentence: `Longest calls: save (checkpoint_manager.py:1334) 25%, log
    4%`; lines are what only samples name. Always known.
    """
    frames = _costliest_frames(question)
    if not frames:
        return "The trace does not name its calls"
    total = sum(counted_ps(host) for host in question.run.hosts)
    named = ", ".join(
        f"{frame.called()} {percent(frame.host_ps / max(total, 1))}"
        for frame in frames[:3]
    )
    return (
        "Longest "
        f"calls{'' if all(frame.calls for frame in frames[:3]) else ' and lines'}: "
        f"{named}"
    )


@metric(needs=(an_accelerator,))
def host_op_share(question: Question) -> float:
    """Time of framework ops that run on the host of an accelerator run, over the time
    of all ops on host and devices. Ops of the input pipeline belong on the host and do
    not count.
    """
    on_device = 0
    for _, device in accelerators(question.run):
        on_device += int(
            device.ops.total_ps[device.ops.of_class(DeviceClass.COMPUTE)].sum()
        )
    on_host = sum(host.evidence.host_ops.total_ps for host in question.run.hosts)
    if not on_host + on_device:
        raise MetricAbsent("no op begins in a counted step")
    return on_host / (on_host + on_device)


@fact(needs=(an_accelerator,))
def host_op_types(question: Question) -> str:
    """The op types that take most time on the host of an accelerator run: `Unique,
    StringSplit`.
    """
    time = added_up(
        pair for host in question.run.hosts for pair in host.evidence.host_ops.by_type
    )
    if not time:
        raise MetricAbsent("no op runs on the host")
    return ", ".join(sorted(time, key=lambda kind: -time[kind])[:3])


@metric(needs=(a_device, known_steps))
def python_in_step_fraction(question: Question) -> float:
    """Share of step time in which no device works while the compiled step runs a Python
    function that it calls: tf.py_function, tf.numpy_function, jax.pure_callback and the
    like. It is part of host_fraction.
    """
    return min(
        spent(counted_hosts(question.run), HostCost.STEP_PYTHON),
        share(question, TimeClass.HOST),
    )


@once
def _step_python(question: Question) -> StepPython:
    """The op through which the step calls most Python. Raises MetricAbsent."""
    found = [
        host.evidence.calls.python
        for host in question.run.hosts
        if host.evidence.calls.python and host.costs[HostCost.STEP_PYTHON]
    ]
    if not found:
        raise MetricAbsent("the compiled step calls no Python")
    return found[0]


@fact
def python_in_step_op(question: Question) -> str:
    """The op through which the compiled step calls most Python, with its line where the
    HLO tells it: `EagerPyFunc`, `pure_callback.3 (train.py:40)`.
    """
    found = _step_python(question)
    return f"{found.op} ({found.file}:{found.line})" if found.file else found.op


@metric(unit=Unit.COUNT)
def python_calls_per_step(question: Question) -> float:
    """How often per step the op of python_in_step_op runs, which calls Python: under
    vmap once for each element.
    """
    found = [host.evidence.calls.python for host in question.run.hosts]
    counts = [python.count for python in found if python is not None]
    return sum(counts) / counted_steps(question.run.hosts)


@fact
def python_in_step_rounds(question: Question) -> str:
    """How often that op runs, and by the HLO in which loop: `65 times a step, in
    each of 63 rounds of the loop at train.py:42`.
    """
    found = _step_python(question)
    calls = python_calls_per_step(question)
    often = f"{calls:,.0f} times a step" if calls >= _SEVERAL else "once a step"
    if not found.loop:
        return often
    rounds = f"each of {found.rounds:,} rounds" if found.rounds else "each round"
    return f"{often}, in {rounds} of the loop at {found.loop}"


@metric
def loop_python_fraction(question: Question) -> float:
    """host_fraction without python_in_step_fraction and argument_python_fraction:
    Python of the loop that runs the steps.
    """
    in_step = spent(counted_hosts(question.run), HostCost.STEP_PYTHON)
    others = in_step + share_of_arguments(question)
    return max(share(question, TimeClass.HOST) - others, 0.0)


@metric
def loader_lock_fraction(question: Question) -> float:
    """Share of step time in which no device works and the thread that drives the steps
    is in no event, while threads from which it takes its batches run Python of the
    program: Python's global lock lets one thread at a time do so. It is part of
    input_bound_fraction.
    """
    return min(
        spent(counted_hosts(question.run), HostCost.BEHIND_LOADER),
        share(question, TimeClass.INPUT),
    )


@metric
def batch_python_fraction(question: Question) -> float:
    """Share of step time in which no device works while Python of the loop builds the
    next batch. Without Python frames the sign is work inside the step's marker, before
    its dispatch, that ends in a tensor. It is part of input_bound_fraction.
    """
    return min(
        spent(counted_hosts(question.run), HostCost.BATCH_PYTHON),
        share(question, TimeClass.INPUT),
    )


@metric(unit=Unit.MS)
def loop_python_ms_per_step(question: Question) -> float:
    """loop_python_fraction in milliseconds per step. The calls of a plain loop or of
    Keras take about 0.1 ms.
    """
    hosts = counted_hosts(question.run)
    steps = counted_steps(hosts)
    return (
        loop_python_fraction(question) * sum(map(counted_ps, hosts)) / steps / PS_PER_MS
    )


@metric
def eager_dispatch_fraction(question: Question) -> float:
    """Share of step time in which no device works while the driving thread dispatches
    ops one by one outside any compiled function, including short pauses between two of
    them: TensorFlow's eager ops, and JAX's programs of one or two ops. It is part of
    kernel_launch_gap_fraction, and 0 where a step has fewer than eight dispatches.
    """
    return min(
        spent(counted_hosts(question.run), HostCost.EAGER),
        share(question, TimeClass.LAUNCH),
    )


@metric
def eager_step_share(question: Question) -> float:
    """Share of the counted steps in which Python dispatches eight ops or more one by
    one. TensorFlow's that save or restore variables, and those between the step's
    compiled function and its last write of a file, do not count.
    """
    hosts = [
        host
        for host in counted_hosts(question.run)
        if host.evidence.calls.eager_steps >= 0
    ]
    if not hosts:
        raise MetricAbsent("no op is dispatched on its own in a counted step")
    return sum(host.evidence.calls.eager_steps for host in hosts) / counted_steps(hosts)


@metric(needs=(a_device,))
def crowded_launch_fraction(question: Question) -> float:
    """Share of step time in which no device works and the host dispatches, while ops of
    a tf.data pipeline run on two threads or more. It is part of
    kernel_launch_gap_fraction. One busy thread leaves the others to the step.
    """
    return min(
        spent(counted_hosts(question.run), HostCost.CROWDED_LAUNCH),
        share(question, TimeClass.LAUNCH),
    )


@metric
def file_writing_fraction(question: Question) -> float:
    """Share of step time between the end of the step's compiled function and the last
    op that writes a checkpoint, a summary or another file. The trace does not show
    files that Python itself writes.
    """
    return spent(counted_hosts(question.run), HostCost.WRITING)


@metric(unit=Unit.COUNT)
def file_writes_per_step(question: Question) -> float:
    """Number of ops per step that write a checkpoint, a summary or another file and
    that Python dispatches.
    """
    return sum(
        host.evidence.calls.writes for host in question.run.hosts
    ) / counted_steps(question.run.hosts)


@metric
def pipeline_building_fraction(question: Question) -> float:
    """Share of step time from the first op with which Python builds a tf.data dataset
    or iterator inside a step until its first batch is ready, including the tracing of
    the pipeline's functions. Calls of compiled functions between two pipelines do not
    count.
    """
    return spent(counted_hosts(question.run), HostCost.BUILDING)


@metric
def pipeline_building_step_share(question: Question) -> float:
    """Share of the counted steps in which Python builds a tf.data dataset or iterator.
    It is 1 for a loop that calls model.predict in every step.
    """
    hosts = counted_hosts(question.run)
    return sum(host.evidence.calls.builds for host in hosts) / counted_steps(hosts)


@fact
def pipeline_built(question: Question) -> str:
    """The part of a tf.data pipeline that Python builds inside the steps: `dataset`, or
    only an `iterator` of one.
    """
    hosts = [host for host in counted_hosts(question.run) if host.evidence.calls.builds]
    if not hosts:
        raise MetricAbsent("no step makes a dataset or an iterator")
    if any(host.evidence.calls.makes_datasets for host in hosts):
        return "dataset"
    return "iterator"


@metric(better=Better.NEITHER)
def wait_fraction(question: Question) -> float:
    """Share of step time in which the driving thread blocks until something else is
    done. It overlaps device work, so it is no class of the breakdown: a host should
    wait for a busy device.
    """
    waited = total = 0
    for host in question.run.hosts:
        if host.steps.thread >= 0:
            waited += host.costs[HostCost.WAITING]
            total += counted_ps(host)
    if not total:
        raise MetricAbsent("no host thread drives the steps")
    return waited / total


# Tracing and compilation inside steps that should run compiled code.


@metric(unit=Unit.COUNT, needs=(known_steps,))
def retraces_in_steady_state(question: Question) -> float:
    """How often a function was compiled during the counted steps, or traced anew by
    TensorFlow. Tracing for shapes alone does not count.
    """
    if all(host.steps.thread < 0 for host in question.run.hosts):
        raise MetricAbsent(
            "no host thread drives the steps, so compilation cannot be seen"
        )
    return float(
        sum(
            compiled.times
            for host in question.run.hosts
            for compiled in host.evidence.compiles
        )
    )


def _recompiled(question: Question) -> Compiled:
    """What takes most of the time. Raises MetricAbsent where nothing compiles."""
    found = [
        compiled for host in question.run.hosts for compiled in host.evidence.compiles
    ]
    if not found:
        raise MetricAbsent("nothing is compiled in a counted step")
    return max(found, key=lambda compiled: compiled.compile_ps)


def _compiles(host: HostSummary, function: Compiled) -> bool:
    return any(found is function for found in host.evidence.compiles)


@fact
def recompilations(question: Question) -> str:
    """What is compiled in the counted steps, how often, in how many of them, and what
    changed: `make_step once, in 1 of 20 steps, since axis 0 of x has 96 or 40`. Of
    several functions the costliest, and how many others there are.
    """
    first = _recompiled(question)
    times = "once" if first.times == 1 else f"{first.times:,} times"
    hosts = [host for host in question.run.hosts if _compiles(host, first)]
    steps = counted_steps(hosts)
    words = (
        f"{first.function} {times}, in {min(first.steps, steps):,} of {steps:,} steps"
    )
    # of that name are several functions, which take as many arrays as each needs
    is_shared = first.function == "<lambda>"
    if first.why is not None and not (is_shared and first.why.cause == "arguments"):
        words += f", since {first.why.words}"
    found = {
        each.function for host in question.run.hosts for each in host.evidence.compiles
    }
    others = len(found) - 1
    return f"{words}; and {others:,} more" if others else words


@fact
def recompiled_since(question: Question) -> str:
    """What changed between the programs of that function, as they and Python's frames
    show it: `x changed from f32 to f16`.
    """
    return _why(question).words


@fact
def recompiled_cause(question: Question) -> str:
    """The same in one word. shape, dtype, arguments: of what it takes. sharding: over
    how many devices that lies. value: what it computes of arrays that are alike. same:
    nothing that a program shows. function: jax.jit is called in the steps. cache:
    jax.clear_caches() is. argument: neither is, so an argument changed in what no
    program shows.
    """
    return _why(question).cause


def _why(question: Question) -> Recompilation:
    why = _recompiled(question).why
    if why is None:
        raise MetricAbsent("the trace does not hold two programs of the function")
    return why


def _recompiled_arguments(question: Question) -> Differing:
    arguments = _recompiled(question).arguments
    if arguments is None:
        raise MetricAbsent("the trace does not hold two programs of the function")
    return arguments


@fact
def recompiled_function(question: Question) -> str:
    """The function whose compilation takes most of the counted steps' time:
    `train_step`.
    """
    return _recompiled(question).function


@fact
def recompiled_owner(question: Question) -> str:
    """Who makes that function: `Keras`, for a model, or the `program`."""
    return "Keras" if is_keras_step(recompiled_function(question)) else "program"


@fact
def recompiled_arguments(question: Question) -> str:
    """How the arguments of that function's programs differ: rows (only the sizes of
    first axes), grows (that of one argument, by as much in each program), lengths
    (sizes of other axes too), differ (types, or how many there are) or same. The same
    means that a Python value changed, or that the function itself is made anew.
    """
    return _recompiled_arguments(question).how


@fact
def recompiled_difference(question: Question) -> str:
    """Which sizes of that function's arguments differ: `axis 0 of x has 96 or 40`."""
    words = _recompiled_arguments(question).words
    if not words:
        raise MetricAbsent("its programs take arrays of the same sizes")
    return words


@metric(unit=Unit.COUNT)
def recompiled_sizes(question: Question) -> float:
    """How many sizes that axis has among the first programs of the function. Two mean
    one odd batch, such as the last of an epoch.
    """
    return float(len(_recompiled_arguments(question).sizes))


@fact
def recompiled_axis(question: Question) -> str:
    """The axis in which they differ, as in code: `0`."""
    arguments = _recompiled_arguments(question)
    if not arguments.sizes:
        raise MetricAbsent("its programs take arrays of the same sizes")
    return str(arguments.axis)
