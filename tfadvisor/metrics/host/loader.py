"""The training loop's calls that load data, where the trace holds Python frames."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.timeline.host.loop_frames import FrameShare
from tfadvisor.units import Unit


def _frames(question: Question) -> list[FrameShare]:
    """Calls of the training loop that load data, the costliest first."""
    frames = [frame for host in question.run.hosts for frame in host.evidence.frames if frame.input_ps > frame.host_ps]
    return sorted(frames, key=lambda frame: -frame.input_ps)


@fact("input_frame", about="The call of the training loop that spends most time loading, with its place.")
def input_frame(question: Question) -> str:
    """`load_batch (train.py:42)`."""
    frames = _frames(question)
    if not frames:
        raise MetricAbsent("the trace holds no Python frames of a loader")
    return frames[0].place()


@fact("input_frame_inner", about="What the loading call spends most of its time in.")
def input_frame_inner(question: Question) -> str:
    """`time sleep`, as the Python tracer names it."""
    frames = _frames(question)
    if not frames or not frames[0].inner:
        raise MetricAbsent("no single call below the loader stands out")
    return frames[0].inner


@metric(
    "loader_wait_share",
    unit=Unit.FRACTION,
    about="Part of the time in the training loop's loading calls in which they wait for another thread or process that makes "
    "the batch. Needs Python frames.",
)
def loader_wait_share(question: Question) -> float:
    """Near 1 where a loader beside the loop is slower than the steps."""
    frames = _frames(question)
    if not frames:
        raise MetricAbsent("the trace holds no Python frames of a loader")
    return sum(frame.others_ps for frame in frames) / max(sum(frame.input_ps for frame in frames), 1)
