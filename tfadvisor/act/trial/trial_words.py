"""A trial in words."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.act.trial.trial_result import (
    BETTER,
    BROKEN,
    CANNOT_TELL,
    NONE_BETTER,
    NOT_BETTER,
    OPEN,
    PART,
    SCALE,
    WINNER,
    Arm,
    Share,
    StepRatio,
)
from tfadvisor.units import percent

_MOST_NAMES = 3
NOT_SURE = "not as sure as a winner must be: one trial in 100 may name a false one"
_OUTCOMES = {
    BETTER: "better",
    NOT_BETTER: "not better",
    OPEN: "cannot tell",
    BROKEN: "dropped",
}
_OF_PARTS = {**_OUTCOMES, BETTER: "costs", NOT_BETTER: "costs little"}


def summary_of(
    arms: Sequence[Arm],
    complete: bool,
) -> tuple[str, str]:
    """(outcome, one sentence)."""
    winners = [
        (arm.ratio.estimate, arm)
        for arm in arms
        if arm.outcome == BETTER and arm.ratio is not None
    ]
    if winners:
        _, best = min(winners, key=lambda winner: winner[0])
        less = ", and it does less work" if best.less else ""
        return WINNER, f"{best.name}: {gain(best.ratio)}{less}."

    undecided = [arm for arm in arms if arm.outcome == OPEN]
    if undecided:
        return CANNOT_TELL, _cannot_tell(undecided, complete)
    return NONE_BETTER, "No candidate is better than the program as it is."


def _cannot_tell(
    undecided: Sequence[Arm],
    complete: bool,
) -> str:
    is_or_are = "is" if len(undecided) == 1 else "are"
    likely = [arm for arm in undecided if is_likely(arm)]
    smallest = [arm.smallest_change for arm in undecided]
    seen = [change for change in smallest if change is not None]
    if likely:
        reach = f"Likely for {_names(likely)}, and {NOT_SURE}."
    elif seen:
        reach = f"A gain of {percent(max(seen))} would have been seen."
    else:
        reach = "There are too few runs."
    why = "" if complete else " It was ended early."
    return f"Cannot tell whether {_names(undecided)} {is_or_are} better. {reach}{why}"


def is_likely(arm: Arm) -> bool:
    """Whether all of its interval is a gain, which a winner needs and more."""
    return arm.ratio is not None and arm.ratio.high < 1


def _names(arms: Sequence[Arm]) -> str:
    shown = ", ".join(arm.name for arm in arms[:_MOST_NAMES])
    others = len(arms) - _MOST_NAMES
    return f"{shown} and {others} more" if others > 0 else shown


def gain(ratio: StepRatio | None) -> str:
    """`38% of step time saved (34 to 42)`, `12% slower (8 to 15)`."""
    if ratio is None:
        return "no step time"
    if ratio.estimate <= 1:
        saved = percent(1 - ratio.estimate)
        return f"{saved} of step time saved ({_range(1 - ratio.high, 1 - ratio.low)})"
    slower = percent(ratio.estimate - 1)
    return f"{slower} slower ({_range(ratio.low - 1, ratio.high - 1)})"


def scaled(ratio: StepRatio) -> str:
    """`takes 93% of the time (91 to 95)`."""
    return (
        f"takes {percent(ratio.estimate)} of the time ({_range(ratio.low, ratio.high)})"
    )


def promised(share: Share) -> str:
    """`20 to 40`."""
    return _range(share.low, share.high)


def _range(low: float, high: float) -> str:
    return f"{low * 100:.0f} to {high * 100:.0f}"


def outcome_words(arm: Arm) -> str:
    """Where it stands."""
    if arm.kind == SCALE and arm.ratio is not None:
        return "scale"
    words = _OF_PARTS if arm.kind == PART else _OUTCOMES
    return words[arm.outcome]
