"""What the host does between dispatches, and which ops it runs itself."""

from __future__ import annotations

import numpy as np

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import (
    accelerators,
    counted_hosts,
    counted_ps,
    counted_steps,
    needs_device,
    needs_steps,
    of_counted_time,
    share,
)
from tfadvisor.timeline.host.costs import HostCost
from tfadvisor.timeline.host.loop_frames import FrameShare
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.units import PS_PER_MS, Unit, percent
from tfadvisor.vocabulary import TimeClass


def host_frames(question: Question) -> list[FrameShare]:
    """Calls of the training loop that neither load nor dispatch, the costliest first."""
    frames = [frame for host in question.run.hosts for frame in host.evidence.frames if frame.host_ps >= frame.input_ps]
    return sorted(frames, key=lambda frame: -frame.host_ps)


@fact("host_frame", about="The call of the training loop that spends most host time, with its place.")
def host_frame(question: Question) -> str:
    """`log_metrics (train.py:57)`."""
    frames = host_frames(question)
    if not frames:
        raise MetricAbsent("the trace holds no Python frames")
    return frames[0].place()


@fact("host_frames", about="The calls of the training loop that take host time, with their share of it.")
def host_frames_listed(question: Question) -> str:
    """`log_metrics 31 %, save 4.0 %` of step time."""
    frames = host_frames(question)
    if not frames:
        raise MetricAbsent("the trace holds no Python frames")
    total = sum(map(counted_ps, question.run.hosts))
    return ", ".join(f"{frame.place()} {percent(frame.host_ps / max(total, 1))}" for frame in frames[:3])


@metric(
    "host_op_share",
    unit=Unit.FRACTION,
    about="Time of framework ops that run on the host of an accelerator run, over host and device op time; the input "
    "pipeline's ops belong on the host and do not count.",
)
def host_op_share(question: Question) -> float:
    """Only for runs with an accelerator: on a CPU run every op is a host op."""
    on_device = 0
    for _, device in accelerators(question.run):
        on_device += int(device.ops.total_ps[device.ops.of_class(DeviceClass.COMPUTE)].sum())
    on_host = sum(host.evidence.host_ops.total_ps for host in question.run.hosts)
    if not on_host + on_device:
        raise MetricAbsent("no op begins in a counted step")
    return on_host / (on_host + on_device)


@fact("host_op_types", about="The op types that take most time on the host of an accelerator run.")
def host_op_types(question: Question) -> str:
    """`Unique, StringSplit`."""
    accelerators(question.run)
    time: dict[str, int] = {}
    for host in question.run.hosts:
        for kind, ps in host.evidence.host_ops.by_type:
            time[kind] = time.get(kind, 0) + ps
    if not time:
        raise MetricAbsent("no op runs on the host")
    return ", ".join(sorted(time, key=lambda kind: -time[kind])[:3])


@metric(
    "python_in_step_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which no device works while the compiled step is inside a Python function that it calls: "
    "tf.py_function, tf.numpy_function, jax.pure_callback and their kin. It is part of host_fraction.",
)
def python_in_step_fraction(question: Question) -> float:
    """0 for a step that calls none."""
    needs_device(question.run)
    needs_steps(question.run)
    return min(_python_in_step(question), share(question, TimeClass.HOST))


def _python_in_step(question: Question) -> float:
    return of_counted_time(counted_hosts(question.run), lambda host: host.costs[HostCost.STEP_PYTHON])


@fact("python_in_step_op", about="The op by which the compiled step calls Python.")
def python_in_step_op(question: Question) -> str:
    """`EagerPyFunc`, `pure_callback`."""
    found = [
        host.evidence.calls.python_op
        for host in question.run.hosts
        if host.evidence.calls.python_op and host.costs[HostCost.STEP_PYTHON]
    ]
    if not found:
        raise MetricAbsent("the compiled step calls no Python")
    return found[0]


@metric(
    "loop_python_fraction",
    unit=Unit.FRACTION,
    about="host_fraction without what python_in_step_fraction counts: Python of the training loop itself.",
)
def loop_python_fraction(question: Question) -> float:
    """Never below 0."""
    return max(share(question, TimeClass.HOST) - _python_in_step(question), 0.0)


@metric(
    "batch_python_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which no device works while Python of the loop makes the next batch, told without Python "
    "frames: it lies inside the step's marker, before its dispatch, and ends in a tensor. It is part of input_bound_fraction.",
)
def batch_python_fraction(question: Question) -> float:
    """0 for a loop that takes its batches from tf.data, and where Python frames name what the loop calls."""
    made = of_counted_time(counted_hosts(question.run), lambda host: host.costs[HostCost.BATCH_PYTHON])
    return min(made, share(question, TimeClass.INPUT))


@metric(
    "perhaps_batch_python_fraction",
    unit=Unit.FRACTION,
    about="The part of loop_python_fraction that ends in a tensor for the next dispatch, in a loop without tf.data and "
    "Python frames, outside of a step's marker: it may make the next batch, and may log or measure what the step before it gave.",
)
def perhaps_batch_python_fraction(question: Question) -> float:
    """Never more than loop_python_fraction."""
    made = of_counted_time(counted_hosts(question.run), lambda host: host.costs[HostCost.PERHAPS_BATCH_PYTHON])
    return min(made, loop_python_fraction(question))


@metric(
    "loop_python_ms_per_step",
    unit=Unit.MS,
    about="What loop_python_fraction is of a step, in milliseconds. The calls of a plain loop or of Keras take about 0.1 ms.",
)
def loop_python_ms_per_step(question: Question) -> float:
    """A mean over the counted steps of all hosts."""
    hosts = counted_hosts(question.run)
    steps = counted_steps(hosts)
    return loop_python_fraction(question) * sum(map(counted_ps, hosts)) / steps / PS_PER_MS


@fact(
    "interpreted_function", about="A jitted function that Python runs op by op all the same, as under jax_disable_jit."
)
def interpreted_function(question: Question) -> str:
    """`train_step`."""
    found = [host.evidence.calls.interpreted for host in question.run.hosts if host.evidence.calls.interpreted]
    if not found:
        raise MetricAbsent("Python runs no jitted function op by op")
    return found[0]


@metric(
    "eager_dispatch_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which no device works while the driving thread dispatches TensorFlow ops one by one, outside "
    "of any compiled function, or shortly pauses between two of them; not to build a tf.data pipeline. It is part of "
    "kernel_launch_gap_fraction.",
)
def eager_dispatch_fraction(question: Question) -> float:
    """0 where a step has fewer than eight dispatches."""
    eager = of_counted_time(counted_hosts(question.run), lambda host: host.costs[HostCost.EAGER])
    return min(eager, share(question, TimeClass.LAUNCH))


@metric(
    "file_writing_fraction",
    unit=Unit.FRACTION,
    about="Share of step time that goes by after the step's compiled function until the last op that writes a checkpoint, a "
    "summary or another file, all work for its sake included. Files that Python writes by itself are not seen.",
)
def file_writing_fraction(question: Question) -> float:
    """0 for steps without such an op."""
    return of_counted_time(counted_hosts(question.run), lambda host: host.costs[HostCost.WRITING])


@metric(
    "file_writes_per_step",
    unit=Unit.COUNT,
    about="Ops a step that write a checkpoint, a summary or another file, dispatched by Python.",
)
def file_writes_per_step(question: Question) -> float:
    """A mean; below 1 where files are written now and then, as they should."""
    return sum(host.evidence.calls.writes for host in question.run.hosts) / counted_steps(question.run.hosts)


@metric(
    "pipeline_building_fraction",
    unit=Unit.FRACTION,
    about="Share of step time that goes by from the first op with which Python makes a tf.data dataset or iterator in a step "
    "until the first batch of it is there, the tracing of the pipeline's functions included.",
)
def pipeline_building_fraction(question: Question) -> float:
    """0 for a loop that makes its pipeline before its first step."""
    return of_counted_time(counted_hosts(question.run), lambda host: host.costs[HostCost.BUILDING])


@metric(
    "pipeline_building_step_share",
    unit=Unit.FRACTION,
    about="Share of the counted steps in which Python makes a tf.data dataset or iterator.",
)
def pipeline_building_step_share(question: Question) -> float:
    """1 for a loop that calls model.predict in every step; small where it does so once an epoch."""
    hosts = counted_hosts(question.run)
    return sum(host.evidence.calls.builds for host in hosts) / counted_steps(hosts)


@fact(
    "pipeline_built",
    about="What of a tf.data pipeline Python makes in the steps: `dataset`, or only an `iterator` of one.",
)
def pipeline_built(question: Question) -> str:
    """Needs a counted step that makes any."""
    hosts = [host for host in counted_hosts(question.run) if host.evidence.calls.builds]
    if not hosts:
        raise MetricAbsent("no step makes a dataset or an iterator")
    return "dataset" if any(host.evidence.calls.makes_datasets for host in hosts) else "iterator"


@metric(
    "loop_iterations_per_step",
    unit=Unit.COUNT,
    about="Iterations a step of the longest while loop inside TensorFlow's compiled functions: tf.while_loop, tf.map_fn, loops "
    "over tensors, recurrent layers.",
)
def loop_iterations_per_step(question: Question) -> float:
    """A mean. XLA's loops are not seen."""
    return sum(host.evidence.calls.loop_iterations for host in question.run.hosts) / counted_steps(question.run.hosts)


@metric(
    "synchronising_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which no device works while the driving thread blocks, and nothing it could wait for is "
    "known. It is part of idle_fraction.",
)
def synchronising_fraction(question: Question) -> float:
    """Mean over the devices."""
    needs_device(question.run)
    blocked = total = 0
    for host in question.run.hosts:
        counted = host.takes_part & host.steps.steady()[None, :]
        blocked += int(
            np.minimum(host.device_time.synchronising_ps, host.breakdown[:, :, TimeClass.IDLE])[counted].sum()
        )
        total += int(host.breakdown[counted].sum())
    if not total:
        raise MetricAbsent("the trace holds no step")
    return blocked / total


@metric(
    "wait_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which the driving thread blocks until something else is done. It overlaps device work.",
)
def wait_fraction(question: Question) -> float:
    """Not a class of the breakdown: a host that waits for a busy device is as it should be."""
    waited = total = 0
    for host in question.run.hosts:
        if host.steps.thread >= 0:
            waited += host.costs[HostCost.WAITING]
            total += counted_ps(host)
    if not total:
        raise MetricAbsent("no host thread drives the steps")
    return waited / total
