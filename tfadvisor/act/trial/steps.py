"""Which loop's rounds are the program's steps, how many are timed, and what the tried
program answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import msgspec
from msgspec.structs import replace

from tfadvisor.act.record.injected.tfadvisor_hook.letters import write_letter

_NEARLY_ALL = 0.8
"""Loops inside of each other share their time; those that hold so much of the longest
one's may be the steps.
"""
_MUCH = 0.3
"""Of the longest one's, where a report tells the step: the longest may make the
batches, and wait in its loop for the step.
"""
_ALIKE = 0.3
"""What a round does around an inner loop may take so much of it."""
_FEWEST = 8
_FEWEST_TOLD = 3
"""Rounds of a loop whose rounds take as long as the step that a report tells."""
_WITHOUT_COMPILING = 0.3
"""What the time in a loop counts where nothing compiled, in it or in a loop before: it
may only prepare data.
"""
_ASIDE = 0.5
"""What the time in a loop counts that may make the batches of another: generators wait
between their rounds, inside of it.
"""
_WARM_STEPS = 3
_WARM_SECONDS = 0.5
_MOST_WARM = 100
_LONG_ENOUGH = 0.6


class StepPlan(msgspec.Struct, frozen=True):
    """The same in all arms."""

    loop: Loop
    function: str
    warm: int
    """Steps that are set aside first."""
    count: int
    """Steps that are timed."""
    whole: bool = False
    """The program makes no more steps than these."""


def choose_loop(
    seen: Sequence[SeenLoop], step_ms: float | None = None
) -> SeenLoop | None:
    """The longest by time; of those around each other the outermost that goes round
    often enough.

    step_ms: what a report says of the step; then the loop whose rounds come nearest,
    within a factor of two; of those with rounds as long, such as a loop that goes round
    once in each of another's, the one that lasts longest.
    """

    def is_told(one: SeenLoop) -> bool:
        return step_ms is not None and agrees(_period(one) * 1000, step_ms)

    often = [
        one
        for one in seen
        if one.seconds > 0
        and (one.done >= _FEWEST or (one.done >= _FEWEST_TOLD and is_told(one)))
    ]
    if not often:
        return None
    longest = max(_weight(one) for one in often)
    told = [one for one in often if is_told(one) and _weight(one) >= _MUCH * longest]
    if step_ms is not None and told:
        nearest = min(told, key=lambda one: abs(_period(one) * 1000 - step_ms))
        alike = [
            one for one in told if abs(_period(one) / _period(nearest) - 1) <= _ALIKE
        ]
        return max(alike, key=lambda one: one.seconds)
    near = [one for one in often if _weight(one) >= _NEARLY_ALL * longest]
    return min(near, key=lambda one: (one.done, one.file == KERAS))


def agrees(measured_ms: float, step_ms: float) -> bool:
    """Whether a round can be the step that a report tells: recording makes a step up to
    twice as long, and machines differ.
    """
    return step_ms / 2 <= measured_ms <= step_ms * 2


def plan_steps(chosen: SeenLoop, seconds: float, ended: bool) -> StepPlan:
    """seconds: how long to time the program as it is. ended: the program made no more
    steps than were seen.
    """
    period = max(_period(chosen), 1e-6)
    warm = max(_WARM_STEPS, min(ceil(_WARM_SECONDS / period), _MOST_WARM))
    count = max(ceil(seconds / period), _FEWEST)
    plan = StepPlan(Loop(chosen.file, chosen.line), chosen.function, warm, count)
    return shortened(plan, chosen.done) if ended else plan


def shortened(plan: StepPlan, made: int) -> StepPlan:
    """For a program that makes no more steps than these."""
    warm = min(plan.warm, max(_WARM_STEPS, made // 4))
    return replace(
        plan, warm=warm, count=min(plan.count, max(made - warm, 1)), whole=True
    )


def refined(
    plan: StepPlan, step_ms: float, seconds: float, made: int | None
) -> StepPlan:
    """By the program's own step, which nothing watched. made: how many steps it timed,
    where it had no more.
    """
    if made is not None:
        return shortened(plan, plan.warm + made)
    if plan.whole or plan.count * step_ms / 1000 >= _LONG_ENOUGH * seconds:
        return plan
    warm = max(plan.warm, min(ceil(_WARM_SECONDS * 1000 / step_ms), _MOST_WARM))
    return replace(plan, warm=warm, count=ceil(seconds * 1000 / step_ms))


def _period(one: SeenLoop) -> float:
    """Seconds a round, without the longest."""
    return (one.seconds - one.longest) / max(one.done - 1, 1)


def _weight(one: SeenLoop) -> float:
    """Without the longest round, in which it may have compiled."""
    trains = (1.0 if one.compiled or one.after else _WITHOUT_COMPILING) * (
        _ASIDE if one.aside else 1.0
    )
    return (one.seconds - one.longest) * trains


# What is sent to the program's processes, and what they answer: small files in a folder
# of this run alone.

KERAS = "keras"
"""Stands for a file where the steps are those of Keras' `fit`."""


class Loop(msgspec.Struct, frozen=True):
    """A loop whose rounds may be the program's steps."""

    file: str
    """Its real path, or KERAS."""
    line: int
    """Of its first line, from 1; 0 for Keras."""


class Order(msgspec.Struct, frozen=True):
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
    looks: int = 3
    """Steps after which values are looked at."""
    fewest: int = 8
    """Watching: rounds after which a loop may be the one."""
    seconds: float = 4.0
    """Watching: for how long once the frameworks work."""
    step_ms: float = 0.0
    """Watching: how long a step takes by a report, 0 where none is given."""
    parts: tuple[str, ...] = ()
    """Of the program, that are hooked."""
    acting: bool = False
    """Whether they are taken out, or only counted."""

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


class Sample(msgspec.Struct, frozen=True):
    """Steps that were timed."""

    seconds: float
    steps: int
    between: float = 0.0
    """Seconds that pass besides between the loop's turns, as at ends of epochs; by
    whole turns, 0 where none was timed.
    """


class Answer(msgspec.Struct, frozen=True):
    """Of one process."""

    ended: bool
    """Its program came to its end by itself."""
    versions: Mapping[str, str]
    device: str
    loops: tuple[SeenLoop, ...]
    sample: Sample | None
    values: Mapping[str, float]
    """Of the first steps: what is read as `batch:NAME@STEP`, all else as
    `value:NAME@STEP`.
    """
    steps: int = 0
    """All that it made."""
    devices: int = 0
    """That its framework uses, 0 where there is none yet."""
    took: Mapping[str, int] = {}
    """How often the hook of each part took effect."""
    places: Mapping[str, tuple[tuple[str, int], ...]] = {}
    """Files and lines of the program where it did, as far as they are known."""
