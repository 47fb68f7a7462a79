"""Base and head in turns until the verdict is sure or the budget is spent: of reports
and verdicts, without processes or commits.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from tfadvisor.comparison.gate.result import GateResult, Outcome
from tfadvisor.errors import TraceError
from tfadvisor.report import Report
from tfadvisor.units import budget_for

LOOKS = (11, 16, 24, 36, 54, 81, 120)
"""Turns after which the verdict is looked at. Eleven is the first number at which ranks
of pairs can be as rare as asked.
"""
_LEAST_SECONDS = 60.0
"""What a program has in any case to come to its steps, however little is left of the
budget.
"""
_FAILURES = 3
"""Turns that may give no recording, once there is one."""


class Turn(msgspec.Struct, frozen=True):
    """Both sides, one after the other: what is judged of each."""

    base: Report
    head: Report


JudgesTurns = Callable[[list[Turn], float], GateResult]
"""The verdict of some turns, with that share of the rate of false alarms."""
RecordsTurn = Callable[[int, float], Turn]
"""Records a turn: its number, from 0, even ones begin with the base; how many seconds
each program may take.
"""


def in_turns(
    record: RecordsTurn,
    judge: JudgesTurns,
    seconds: float,
    *,
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> GateResult:
    """The verdict. seconds: the budget. Raises what the first turn raises, or one too
    many of the others.
    """
    began = clock()
    turns: list[Turn] = []
    failures = looks = 0
    longest = 0.0
    while not turns or clock() - began + longest <= seconds:
        at = clock()
        left = max(seconds - (at - began), _LEAST_SECONDS)
        try:
            turn = record(len(turns) + failures, left)
        except TraceError as error:
            failures += 1
            if not turns or failures > _FAILURES:
                raise
            tell(f"turn {len(turns) + failures} is left out: {error}")
            continue

        turns.append(turn)
        longest = max(longest, clock() - at)
        if len(turns) == 1:
            tell(_forecast(longest, seconds))
        if len(turns) in LOOKS:
            looks += 1
            found = judge(turns, 0.5 ** (looks + 1))
            if decided(found):
                return found
    return judge(turns, 0.5)


def _forecast(turn: float, budget: float) -> str:
    """What a budget can decide. turn: seconds that one takes."""
    first = LOOKS[0] * turn
    words = (
        f"a turn takes {turn:.0f} s; the verdict can be sure after {LOOKS[0]} turns, "
        f"about {first / 60:.1f} minutes"
    )
    if first <= budget:
        return words
    return f"{words}: the budget is too small for that, {budget_for(first)} would do"


def decided(verdict: GateResult) -> bool:
    """Whether more turns would change nothing: it fails, or each change is known within
    its limit.
    """
    if verdict.outcome in (Outcome.FAIL, Outcome.BROKEN):
        return True
    return all(check.value is None for check in verdict.of(Outcome.CANNOT_TELL))
