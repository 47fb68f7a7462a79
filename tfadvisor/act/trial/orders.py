"""What is sent to the program's processes, and what they answer: small files in a
folder of one run alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tfadvisor.act.record.injected.tfadvisor_hook.letters import write_letter

KERAS = "keras"
"""Stands for a file where the steps are those of Keras' `fit`."""


class StepLoop(msgspec.Struct, frozen=True):
    """A loop whose rounds may be the program's steps."""

    file: str
    """Its real path, or KERAS."""
    line: int
    """Of its first line, from 1; 0 for Keras."""


class TrialOrder(msgspec.Struct, frozen=True):
    """What a run is to do."""

    roots: tuple[str, ...]
    """Folders of the program's own files."""
    patched: Mapping[str, str]
    """By real path, the file that is read in its place."""
    loops: tuple[tuple[str, int], ...] | None
    """Those that are timed, None: all are watched."""
    warm: int = 0
    """Steps that are set aside."""
    count: int = 0
    """Steps that are timed."""
    whole_turns: bool = False
    """Whether they are all from one of a turn of the loop to the same one of the next,
    with what lies between, however many these are.
    """
    looks: int = 3
    """Steps after which values are looked at."""
    fewest: int = 8
    """Watching: rounds after which a loop may be the one."""
    seconds: float = 4.0
    """Watching: for how long once the frameworks work."""
    step_ms: float = 0.0
    """Watching: how long a step takes by a report, 0 where none is given."""
    counting: bool = False
    """Whether it is counted what the timed steps do, which takes time."""
    parts: tuple[str, ...] = ()
    """Of the program, that are hooked."""
    acting: bool = False
    """Whether they are taken out, or only counted."""
    arms: tuple[tuple[str, ...], ...] = ()
    """What is taken out of the blocks of each arm, where arms alternate in one process;
    nothing of the first one's."""
    stays: bool = False
    """Whether files stay that the program makes. Those that were there are put back as
    they were in any case.
    """

    def write(self, folder: str) -> None:
        """Raises OSError."""
        write_letter(f"{folder}/order.json", msgspec.to_builtins(self))


class SeenLoop(msgspec.Struct, frozen=True):
    """A loop that went round while it was watched."""

    file: str
    line: int
    function: str
    """Its function, with those around it."""
    done: int
    """Its rounds since the frameworks work."""
    seconds: float
    """Inside of it since then."""
    longest: float
    """Its longest round, seconds."""
    compiled: int
    """Compilations inside of it."""
    after: bool
    """It began when something had compiled in a loop."""
    aside: bool
    """It is a generator's, or ran on another thread than the main one: it may make
    batches.
    """
    between: bool = False
    """It is of a callback of Keras at the end of an epoch."""

    @property
    def place(self) -> StepLoop:
        """Where it is."""
        return StepLoop(self.file, self.line)

    @property
    def period(self) -> float:
        """Seconds a round, without the longest, in which it may have compiled."""
        return self.usual_seconds / max(self.done - 1, 1)

    @property
    def usual_seconds(self) -> float:
        """Without the longest round."""
        return self.seconds - self.longest


class StepSample(msgspec.Struct, frozen=True):
    """Steps that were timed."""

    seconds: float
    steps: int
    between: float = 0.0
    """Seconds that pass besides between the loop's turns, as at ends of epochs; by
    whole turns, 0 where none was timed.
    """

    @property
    def step_ms(self) -> float:
        """Of one."""
        return 1000 * self.seconds / self.steps

    @property
    def between_share(self) -> float:
        """Of all time."""
        return self.between / max(self.between + self.seconds, 1e-9)


class TurnBlock(msgspec.Struct, frozen=True):
    """Some rounds of one arm."""

    arm: int
    """0 is the program as it is."""
    turn: int
    seconds: float
    steps: int
    delayed: float
    """Seconds for which one of its statements was delayed."""

    @property
    def step_ms(self) -> float:
        """Of one."""
        return 1000 * self.seconds / self.steps


class Turns(msgspec.Struct, frozen=True):
    """Arms that alternate in one process."""

    turn: int
    """The one that begins."""
    blocks: tuple[TurnBlock, ...]
    arms: tuple[tuple[str, ...], ...]
    """Parts that each takes out; `delay N` for one that delays a statement."""
    arm: int
    """That runs now."""
    delays: Mapping[str, tuple[str, int]]
    """By such a name, the statement's file and line."""


class ProcessAnswer(msgspec.Struct, frozen=True):
    """Of one process."""

    ended: bool
    """Its program came to its end by itself."""
    versions: Mapping[str, str]
    device: str
    loops: tuple[SeenLoop, ...]
    sample: StepSample | None
    values: Mapping[str, float]
    """Of the first steps: what is read as `batch:NAME@STEP`, all else as
    `value:NAME@STEP`.
    """
    steps: int = 0
    """All that it made."""
    counts: Mapping[str, int] = {}
    """Of an order that counts: how often the timed steps call each function of the
    program's files, and do what stands under a condition in a loop.
    """
    devices: int = 0
    """That its framework uses, 0 where there is none yet."""
    took: Mapping[str, int] = {}
    """How often the hook of each part took effect."""
    places: Mapping[str, tuple[tuple[str, int], ...]] = {}
    """Files and lines of the program where it did, as far as they are known."""
    settled: tuple[str, ...] = ()
    """Parts whose hooks took effect for the whole run."""
    turns: Turns | None = None
