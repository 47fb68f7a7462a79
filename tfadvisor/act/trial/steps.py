"""Which loop's rounds are the program's steps, and how many of them are timed."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import msgspec
from msgspec.structs import replace

from tfadvisor.act.trial.orders import KERAS, SeenLoop, StepLoop

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
_FEWEST_REPORTED = 3
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

    loop: StepLoop
    function: str
    warm: int
    """Steps that are set aside first."""
    count: int
    """Steps that are timed."""
    whole: bool = False
    """The program makes no more steps than these."""
    whole_turns: bool = False
    """They are a turn of the loop, with what lies between two: an epoch."""


def choose_loop(
    seen: Sequence[SeenLoop], step_ms: float | None = None
) -> SeenLoop | None:
    """The longest by time; of those around each other the outermost that goes round
    often enough.

    step_ms: what a report says of the step; then the loop whose rounds come nearest,
    within a factor of two; of those with rounds as long, such as a loop that goes round
    once in each of another's, the one that lasts longest. What Keras' callbacks loop
    over between epochs is no step of its fit.
    """
    often = _often(seen, step_ms)
    if not often:
        return None

    longest = max(map(_weight, often))
    if step_ms is not None:
        long = [loop for loop in often if _weight(loop) >= _MUCH * longest]
        reported = [loop for loop in long if _is_reported(loop, step_ms)]
        if reported:
            return _nearest(reported, step_ms)

    near = [loop for loop in often if _weight(loop) >= _NEARLY_ALL * longest]
    return min(
        near,
        key=lambda loop: (loop.done, loop.file == KERAS),
    )


def _often(seen: Sequence[SeenLoop], step_ms: float | None) -> list[SeenLoop]:
    """Beside a fit none that its callbacks have between epochs."""
    often = [loop for loop in seen if _goes_round_often(loop, step_ms)]
    if any(loop.file == KERAS for loop in often):
        return [loop for loop in often if not loop.between]
    return often


def _goes_round_often(
    loop: SeenLoop,
    step_ms: float | None,
) -> bool:
    fewest = _FEWEST_REPORTED if _is_reported(loop, step_ms) else _FEWEST
    return loop.seconds > 0 and loop.done >= fewest


def _is_reported(
    loop: SeenLoop,
    step_ms: float | None,
) -> bool:
    """Whether its rounds can be the step that a report tells."""
    return step_ms is not None and agrees(loop.period * 1000, step_ms)


def _nearest(
    reported: Sequence[SeenLoop],
    step_ms: float,
) -> SeenLoop:
    nearest = min(
        reported,
        key=lambda loop: abs(loop.period * 1000 - step_ms),
    )
    alike = []
    for other in reported:
        if abs(other.period / nearest.period - 1) <= _ALIKE:
            alike.append(other)
    return max(alike, key=lambda loop: loop.seconds)


def _weight(loop: SeenLoop) -> float:
    """What the time in it counts."""
    weight = loop.usual_seconds
    if not loop.compiled and not loop.after:
        weight *= _WITHOUT_COMPILING
    if loop.aside:
        weight *= _ASIDE
    return weight


def agrees(measured_ms: float, step_ms: float) -> bool:
    """Whether a round can be the step that a report tells: recording makes a step up to
    twice as long, and machines differ.
    """
    return step_ms / 2 <= measured_ms <= step_ms * 2


def plan_steps(
    chosen: SeenLoop,
    seconds: float,
    ended: bool,
    whole_turns: bool = False,
) -> StepPlan:
    """seconds: how long to time the program as it is. ended: the program made no more
    steps than were seen. whole_turns: time turns of the loop, whatever they last.
    """
    period = max(chosen.period, 1e-6)
    plan = StepPlan(
        loop=chosen.place,
        function=chosen.function,
        warm=max(_WARM_STEPS, _warm_steps(period)),
        count=max(ceil(seconds / period), _FEWEST),
    )
    if whole_turns:
        return replace(plan, count=1, whole_turns=True)
    return shortened(plan, chosen.done) if ended else plan


def _warm_steps(period: float) -> int:
    """period: seconds."""
    return min(ceil(_WARM_SECONDS / period), _MOST_WARM)


def shortened(plan: StepPlan, made: int) -> StepPlan:
    """For a program that makes no more steps than these."""
    warm = min(plan.warm, max(_WARM_STEPS, made // 4))
    count = min(plan.count, max(made - warm, 1))
    return replace(
        plan,
        warm=warm,
        count=count,
        whole=True,
    )


def refined(
    plan: StepPlan,
    step_ms: float,
    seconds: float,
    made: int | None,
) -> StepPlan:
    """By the program's own step, which nothing watched. made: how many steps it timed,
    where it had no more.
    """
    if plan.whole_turns:
        return plan
    if made is not None:
        return shortened(plan, plan.warm + made)
    if plan.whole or plan.count * step_ms / 1000 >= _LONG_ENOUGH * seconds:
        return plan

    warm = max(plan.warm, _warm_steps(step_ms / 1000))
    return replace(
        plan,
        warm=warm,
        count=ceil(seconds * 1000 / step_ms),
    )
