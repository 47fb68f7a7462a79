"""Savings do not add: the best candidate, then each other one on top of it as long as that is better still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from tfadvisor.trial.arms import Arms
from tfadvisor.trial.candidates.combining import combined
from tfadvisor.trial.deciding.effect import Effect
from tfadvisor.trial.deciding.rounds import BASE, RATE, Rounds
from tfadvisor.trial.result import BETTER, Arm, Ratio, Together


class Best(msgspec.Struct, frozen=True):
    """result: None unless several are better. stopped: the time was over before all were tried."""

    result: Together | None
    stopped: bool


def together(arms: Arms, alone: Mapping[str, Arm], stages: Sequence[int]) -> Best:
    """Adds up what is better, the best first. Candidates of one finding are alternatives: only the best of them counts."""
    winners = _winners(alone)
    if len(winners) < 2:
        return Best(None, False)
    names = [winners[0]]
    ratio = _ratio_of(alone[winners[0]])
    left_out: dict[str, str] = {}
    now = arms.candidates[winners[0]]
    for name in winners[1:]:
        both = combined(now, arms.candidates[name])
        if isinstance(both, str):
            left_out[name] = both
            continue
        arms.add(both)
        effect, found, stopped = _beside(arms, now.name, both.name, stages)
        if stopped:
            return Best(Together(tuple(names), ratio, {**left_out, name: "there was no time left"}), True)
        if not found or effect is None:
            left_out[name] = arms.broken.get(both.name) or "it gains nothing more"
            continue
        names.append(name)
        now, ratio = both, Ratio(ratio.estimate * effect.ratio, ratio.low * effect.low, ratio.high * effect.high)
    return Best(Together(tuple(names), ratio, left_out), False)


def _winners(alone: Mapping[str, Arm]) -> list[str]:
    better = [one for one in alone.values() if one.outcome == BETTER and one.ratio is not None]
    better.sort(key=lambda one: _ratio_of(one).estimate)
    seen: set[str] = set()
    names = []
    for one in better:
        if one.rule_id and one.rule_id in seen:
            continue
        seen.add(one.rule_id)
        names.append(one.name)
    return names


def _ratio_of(one: Arm) -> Ratio:
    assert one.ratio is not None
    return one.ratio


def _beside(arms: Arms, now: str, both: str, stages: Sequence[int]) -> tuple[Effect | None, bool, bool]:
    """(effect, whether both are better than the best until now, whether the time was over)."""
    rounds = Rounds([both], lambda arm: arms.measure(now if arm == BASE else arm), stages, RATE)
    standing = rounds.decide().arms[both]
    return standing.effect, standing.outcome == BETTER, rounds.stopped and standing.outcome != BETTER
