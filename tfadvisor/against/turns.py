"""Base and head in turns until the verdict is sure or the budget is spent.

Each turn starts both programs once, the one that came second before comes first now, so that what else the machine does
meets both alike. The verdict is looked at only after some turns (LOOKS): whoever looks after each one and stops when he
likes what he sees raises false alarms. The rate of false alarms is shared out among the looks: half of it for the last
one, when the budget is spent, and of the other half a half for the first look, a quarter for the second, and so on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from tfadvisor.errors import TraceError
from tfadvisor.gate.judging.result import GateResult, Outcome
from tfadvisor.report.model import Report

LOOKS = (11, 16, 24, 36, 54, 81, 120)
"""Turns after which the verdict is looked at. Eleven is the first number at which ranks of pairs can be as rare as asked."""
_LEAST_SECONDS = 60.0
"""What a program has in any case to come to its steps, however little is left of the budget."""
_FAILURES = 3
"""Turns that may give no recording, once there is one."""


class Turn(msgspec.Struct, frozen=True):
    """Both sides, one after the other: what is judged of each."""

    base: Report
    head: Report


class Judging(Protocol):
    """The verdict of some turns."""

    def __call__(self, turns: list[Turn], share: float) -> GateResult:
        """share: of the rate of false alarms."""


class Recorder(Protocol):
    """Records a turn."""

    def __call__(self, number: int, seconds: float) -> Turn:
        """number: from 0; even ones begin with the base. seconds: how long each program may take."""


def in_turns(
    record: Recorder,
    judge: Judging,
    seconds: float,
    *,
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> GateResult:
    """The verdict. seconds: the budget. Raises what the first turn raises, or one too many of the others."""
    began = clock()
    turns: list[Turn] = []
    failures = looks = 0
    longest = 0.0
    while not turns or clock() - began + longest <= seconds:
        at = clock()
        try:
            turns.append(record(len(turns) + failures, max(seconds - (at - began), _LEAST_SECONDS)))
        except TraceError as error:
            failures += 1
            if not turns or failures > _FAILURES:
                raise
            tell(f"turn {len(turns) + failures} is left out: {error}")
            continue
        longest = max(longest, clock() - at)
        if len(turns) in LOOKS:
            looks += 1
            found = judge(turns, 0.5 ** (looks + 1))
            if decided(found):
                return found
    return judge(turns, 0.5)


def decided(verdict: GateResult) -> bool:
    """Whether more turns would change nothing: it fails, or each change is known within its limit."""
    if verdict.outcome in (Outcome.FAIL, Outcome.BROKEN):
        return True
    return all(check.value is None for check in verdict.of(Outcome.CANNOT_TELL))
