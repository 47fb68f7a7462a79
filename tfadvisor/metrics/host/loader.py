"""The training loop's calls that load data, where the trace holds Python frames."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.timeline.host.loop_frames import FrameShare
from tfadvisor.timeline.losses.batch_makers import BatchMakers
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_MOST = 0.5


def _frames(question: Question) -> list[FrameShare]:
    """Calls of the training loop that load data, the costliest first; none that mostly waits for a tf.data pipeline."""
    frames = [frame for host in question.run.hosts for frame in host.evidence.frames if frame.input_ps > frame.host_ps]
    own = [frame for frame in frames if frame.pipeline_ps <= _MOST * frame.input_ps]
    return sorted(own, key=lambda frame: -frame.input_ps)


@fact
def input_frame(question: Question) -> str:
    """The call of the training loop that spends most time loading data, with its place: `load_batch (train.py:42)`. For a
    call of a library it is the user's own function below it, else the one that makes the call.
    """
    frames = _frames(question)
    if not frames:
        raise MetricAbsent("the trace holds no Python frames of a loader")
    return frames[0].place()


def _makers(question: Question) -> BatchMakers:
    """Of the host on which most threads make batches. Raises MetricAbsent where none does."""
    most = max((host.evidence.makers for host in question.run.hosts), key=lambda one: one.threads)
    if not most.threads:
        raise MetricAbsent("no other thread is in a function of the user's while the loop waits for input")
    return most


@fact
def batch_making_place(question: Question) -> str:
    """The user's function in which these threads spend most of that time: `__getitem__ (data.py:39)`."""
    return _makers(question).place


@metric(unit=Unit.FRACTION, better=Better.LESS)
def loader_wait_share(question: Question) -> float:
    """Share of the time in the training loop's loading calls in which they wait for another thread or process to make
    the batch. It is near 1 where a background loader is slower than the steps. Needs Python frames.
    """
    frames = _frames(question)
    if not frames:
        raise MetricAbsent("the trace holds no Python frames of a loader")
    return sum(frame.others_ps for frame in frames) / max(sum(frame.input_ps for frame in frames), 1)
