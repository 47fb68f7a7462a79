"""Where the time of a whole run goes, as data: the steps, and what is not a step."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec.structs import replace

from tfadvisor.timeline.names.frames import place_in_words

STEPS = "steps"
"""The part of an account that is the training steps."""
FIRST_BATCH = "first batch of each epoch"
FIRST_STEP = "first step of each epoch"
FREEING = "freeing an iterator of tf.data"
PREDICTS = "prediction"
"""The kind of a part that is Keras' predict."""
WAITING = "waiting for the devices"
"""Perhaps for steps that the host is ahead of."""
BUILDING = "building an input pipeline"
BUILDING_A_GRAPH = "building a graph"
GRAPH = "graph"
"""The kind of a part that builds a graph which no tf.function traces."""
LONG_PAUSES = "long pauses in the step"
LONG_STAYS = "long stays in one call"
"""Such pauses, where no input pipeline was seen."""
_MUCH = 0.01
"""Of the run."""
_PART_OF_A_ROUND = 5.0
"""Times as long as a step of the window; recording itself makes steps longer."""


class RunPlace(msgspec.Struct, frozen=True):
    """A statement of the program."""

    file: str
    """Without its folder."""
    line: int
    """From 1."""
    function: str
    """That holds the statement; "" outside of all functions."""
    text: str = ""
    """The line itself; "" where the program's source is not known."""

    @property
    def words(self) -> str:
        """`load_batch (train.py:42)`."""
        return place_in_words(self.file, self.line, self.function)


class RunShare(msgspec.Struct, frozen=True):
    """What a part of the run consists of."""

    what: str
    """What a library does there, else the line that is under way; of a part `steps`,
    `evaluation`, `first batch of each epoch`, else the name of the program's function.
    """
    kind: str
    """steps, input, compile, graph, evaluation, prediction, saving, logging, epoch
    (what the end of an epoch calls), imports or other: what it does, by the functions
    of libraries that run inside.
    """
    fraction: float
    """Of the account's time, 0..1."""
    seconds: float
    """The same in seconds."""
    seen: int
    """Samples that lie in it."""
    places: tuple[RunPlace, ...] = ()
    """The statements of the program that it is under, most time first; at most
    three.
    """


class RunPart(RunShare, frozen=True):
    """A part of the run, or of its steps a statement."""

    turns: int | None = None
    """How often it came; None where it comes more often than samples tell."""
    parts: tuple[RunShare, ...] = ()
    """What it consists of, the largest first; they add up to it."""
    op_by_op: float = 0.0
    """Of the account's time, 0..1: where Python runs ops one by one in it."""
    ops_at: tuple[RunShare, ...] = ()
    """The program's innermost lines there, most time first; their fractions are of that
    time.
    """
    ops_within: tuple[RunPlace, ...] = ()
    """The program's functions below its statement in each of which nearly all of that
    time lies, one inside of another, the outermost first; each with its line that takes
    most.
    """
    in_python: float = 0.0
    """Of the account's time, 0..1: of a statement of the program's loop, while Python
    of the program, NumPy or the like runs, and nothing that may use a device or wait.
    """
    statements: tuple[RunPart, ...] = ()
    """Of the steps: those of the program's loop that make a step, the largest first; of
    the loop of a library the program's lines that it calls.
    """
    fills: str = ""
    """Of a first batch or step, or of long pauses, what the trace shows to take much of
    it where an iterator begins: `a shuffle buffer of 2,500 elements, for which
    ParallelMap takes 300 ms`; "" for unknown.
    """


class BeforeSteps(msgspec.Struct, frozen=True):
    """What the program did before its first step."""

    seconds: float
    """From the first sample on."""
    parts: tuple[RunShare, ...]
    """Their fractions are of these seconds."""


class PipelinePython(msgspec.Struct, frozen=True):
    """Python that an input pipeline runs on other threads than the main one: a
    generator, a py_function, a PyDataset of Keras.
    """

    seconds: float
    """Of all such threads since the first step."""
    lines: tuple[RunShare, ...]
    """The program's innermost lines in it, most time first; their fractions are of
    these seconds.
    """
    own: float
    """The share of the program's own lines, 0..1."""
    around: float
    """That of TensorFlow's or Keras' own work around each element, 0..1."""
    library: str
    """The installed package in which most of the first line's time lies: `h5py`; ""
    for none.
    """
    adapter: str
    """The file and function of Keras that asks a PyDataset; "" for none."""
    generator: str = ""
    """The same that asks a Python generator, which gives it whole batches."""
    calls: tuple[RunShare, ...] = ()
    """The program's functions that come in it again and again, with all that they call,
    most time first; their fractions are of these seconds. The places of each are its
    line that takes most, and the line of the program that calls it.
    """


class RunDone(msgspec.Struct, frozen=True):
    """What libraries do in the steps for the arguments and results of calls."""

    what: str
    """`flattening`, `converting` or `checking`."""
    by: str
    """The library's innermost function that takes most of it: `_graph_flatten`."""
    fraction: float
    """Of the steps, 0..1."""
    places: tuple[RunPlace, ...]
    """The program's innermost lines that call it, most time first."""


class RunAccount(msgspec.Struct, frozen=True):
    """All wall time of a program since its first step, by samples of its main thread
    while no profiler was at work.
    """

    seconds: float
    """That it accounts for."""
    since: str
    """`first step`, or `first sample` where no step was seen to begin."""
    steps: float
    """The share of the steps, 0..1."""
    parts: tuple[RunPart, ...]
    """The steps first, then the others, the largest first; they add up to 1."""
    samples: int
    """That it rests on."""
    left_out: float
    """Seconds since the first step in which a profiler was at work, or nothing could be
    read.
    """
    before: BeforeSteps
    """What passed before."""
    step_ms: float | None = None
    """Of a step outside of the recorded window; None for unknown."""
    ops_at: tuple[RunShare, ...] = ()
    """Where in the steps Python runs ops one by one: the program's innermost lines,
    most time first; their fractions are of the steps.
    """
    ops_in: RunPlace | None = None
    """The program's function below the loop in which nearly all of these ops run, with
    its line that takes most; None where there is none.
    """
    ops_within: tuple[RunPlace, ...] = ()
    """That and those inside of it in each of which nearly all of these ops run, the
    outermost first.
    """
    pipeline: PipelinePython | None = None
    """What an input pipeline runs in Python on other threads; None for nothing."""
    python_at: tuple[RunShare, ...] = ()
    """Where in the steps Python of the program, NumPy and the like run, and nothing
    that may use a device or wait: the program's innermost lines, most time first; their
    fractions are of the steps.
    """
    calls: tuple[RunShare, ...] = ()
    """The program's functions in which that Python is, as of an input pipeline; their
    fractions are of the steps.
    """
    done: tuple[RunDone, ...] = ()
    """What libraries do in the steps for arguments or for a session's graph, as far as
    samples meet it.
    """

    def is_of_parts(self, step_ms: float | None) -> bool:
        """Whether a round of the loop takes far longer, while nothing is recorded, than
        what the window counts as a step: it shows parts of a round then. step_ms: of
        such a step, None for unknown.
        """
        round_ms = self.step_ms
        return bool(step_ms and round_ms and round_ms >= _PART_OF_A_ROUND * step_ms)

    @property
    def outside(self) -> tuple[RunPart, ...]:
        """The parts that are no step."""
        return tuple(part for part in self.parts if part.kind != STEPS)

    @property
    def lasting(self) -> RunAccount:
        """Without what came once, of which a longer run has no more, where that is much
        of this one. Its fractions are of the rest.
        """
        once = [part for part in self.outside if part.turns == 1 and not _recurs(part)]
        rest = 1 - sum(part.fraction for part in once)
        if not 0 < rest < 1 - _MUCH:
            return self
        return replace(
            self,
            seconds=self.seconds * rest,
            since=f"{self.since}, without what came once",
            steps=self.steps / rest,
            parts=tuple(_of(rest, part) for part in self.parts if part not in once),
            samples=self.samples - sum(part.seen for part in once),
        )


_EACH_EPOCH = frozenset({"on_epoch_begin", "on_epoch_end"})
"""Functions that Keras calls in each epoch: where one ran, it runs again."""


def _recurs(part: RunPart) -> bool:
    """Whether it comes again in a longer run, though it was seen once so far."""
    return any(place.function in _EACH_EPOCH for place in part.places)


_Share = TypeVar("_Share", RunShare, RunPart)


def _of(whole: float, share: _Share) -> _Share:
    """With fractions of what is so much of the run."""
    share = replace(share, fraction=share.fraction / whole)
    if not isinstance(share, RunPart):
        return share
    return replace(
        share,
        parts=tuple(_of(whole, part) for part in share.parts),
        op_by_op=share.op_by_op / whole,
        in_python=share.in_python / whole,
        statements=tuple(_of(whole, part) for part in share.statements),
    )
