"""What a budget can decide, said before it is spent."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tfadvisor.act.trial.deciding import arms_of_round
from tfadvisor.units import budget_for, counted, duration

_SMOKE_RUNS = 2
"""Of the program as it is, before the first round."""
_LEAST_ROUNDS, _FAR_MORE = 2, 1.5
_MINUTE = 60.0


class Forecast(msgspec.Struct, frozen=True):
    """How long the arms take, seconds."""

    left: float
    """Of the budget."""
    in_turns: Sequence[str] = ()
    """Arms that take turns in one process."""
    in_turns_seconds: float = 0.0
    alone: Sequence[str] = ()
    """Arms of which each run is a start of the program."""
    run_seconds: float = 0.0
    """Of such a run."""
    rounds: int = 3
    """After which they can be decided."""

    @property
    def alone_seconds(self) -> float:
        """Of all runs that are starts."""
        if not self.alone:
            return 0.0
        runs = _SMOKE_RUNS + self.rounds * len(arms_of_round(self.alone))
        return runs * self.run_seconds

    @property
    def is_hopeless(self) -> bool:
        """Whether two rounds of one arm would take far more than what is left, which is
        known before a run is spent. The first start of a program, by which that is
        said, may take longer than the next.
        """
        runs = _SMOKE_RUNS + _LEAST_ROUNDS * len(arms_of_round(self.alone[:1]))
        least = runs * self.run_seconds
        return not self.in_turns and least > _FAR_MORE * self.left

    @property
    def needed(self) -> float:
        """Of everything."""
        return self.in_turns_seconds + self.alone_seconds

    def words(self) -> str:
        """What will be decided, and which budget would do."""
        sentences = []
        if self.in_turns:
            sentences.append(
                f"{_arms(self.in_turns)} in turns within one process, "
                f"about {_about(self.in_turns_seconds)}"
            )
        if self.alone:
            sentences.append(
                f"{_arms(self.alone)} by starts of the program, "
                f"{duration(1000 * self.run_seconds)} each, "
                f"at least {_about(self.alone_seconds)}"
            )
        planned = "; ".join(sentences)
        if self.needed <= self.left:
            return planned
        return f"{planned}. {self._too_little()}"

    def _too_little(self) -> str:
        wanted = f"{budget_for(self.needed)} would do for all."
        if self.in_turns and self.in_turns_seconds <= self.left:
            return f"The time that is left decides the first; {wanted}"
        return f"The time that is left decides few or none; {wanted}"


def rounds_words(
    arms: Sequence[str], stages: Sequence[int], run_seconds: float, left: float
) -> str:
    """How long the rounds take, by a run of the program as it is. arms: that are left.
    stages: as of Rounds. left: of the budget, seconds.
    """
    runs = len(arms_of_round(arms))
    first, last = stages[0], stages[-1]
    least, most = (runs * rounds * run_seconds for rounds in (first, last))
    return (
        f"a run takes {duration(1000 * run_seconds)}: {first} rounds of {runs} runs "
        f"about {_about(least)}; if they decide nothing, up to {last} rounds, "
        f"{_about(min(most, max(left, least)))}"
    )


def _about(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / _MINUTE:.1f} minutes"


def _arms(names: Sequence[str]) -> str:
    return counted(str(len(names)), "arm", "arms")
