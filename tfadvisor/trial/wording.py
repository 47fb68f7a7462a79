"""A trial in words."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.trial.result import BETTER, BROKEN, NOT_BETTER, OPEN, Arm, Ratio, Share, Together
from tfadvisor.units import percent

WINNER, NONE_BETTER, CANNOT_TELL = "winner", "none better", "cannot tell"


def summary_of(arms: Sequence[Arm], best: Together | None, complete: bool) -> tuple[str, str]:
    """(outcome, one sentence)."""
    better = [one for one in arms if one.outcome == BETTER and one.ratio is not None]
    if better:
        if best is not None and len(best.names) > 1:
            return WINNER, f"{' + '.join(best.names)}: {gain(best.ratio)}."
        first = min(better, key=lambda one: one.ratio.estimate if one.ratio else 1.0)
        return WINNER, f"{first.name}: {gain(first.ratio)}."
    undecided = [one for one in arms if one.outcome == OPEN]
    if not undecided:
        return NONE_BETTER, "No candidate is better than the program as it is."
    seen = [one.smallest_change for one in undecided if one.smallest_change is not None]
    reach = f" A gain of {percent(max(seen))} would have been seen." if seen else " There are too few runs."
    why = "" if complete else " It was ended early."
    return (
        CANNOT_TELL,
        f"Cannot tell whether {_names(undecided)} {'is' if len(undecided) == 1 else 'are'} better.{reach}{why}",
    )


def gain(ratio: Ratio | None) -> str:
    """`38% of step time saved (34 to 42)`, `12% slower (8 to 15)`."""
    if ratio is None:
        return "no step time"
    low, high = 1 - ratio.high, 1 - ratio.low
    if ratio.estimate <= 1:
        return f"{percent(1 - ratio.estimate)} of step time saved ({_plain(low)} to {_plain(high)})"
    return f"{percent(ratio.estimate - 1)} slower ({_plain(ratio.low - 1)} to {_plain(ratio.high - 1)})"


def promised(share: Share) -> str:
    """`20 to 40`."""
    return f"{_plain(share.low)} to {_plain(share.high)}"


def outcome_words(arm: Arm) -> str:
    """Where it stands."""
    words = {BETTER: "better", NOT_BETTER: "not better", OPEN: "cannot tell", BROKEN: "dropped"}
    return words[arm.outcome]


def _names(arms: Sequence[Arm]) -> str:
    shown = [one.name for one in arms[:3]]
    more = f" and {len(arms) - 3} more" if len(arms) > 3 else ""
    return ", ".join(shown) + more


def _plain(share: float) -> str:
    return f"{share * 100:.0f}"
