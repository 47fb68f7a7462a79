"""The program as it is, run until it is known how many steps to time, and how far its values differ from run to run."""

from __future__ import annotations

from collections.abc import Callable

from tfadvisor.trial.running.program import Timed
from tfadvisor.trial.running.steps import StepPlan, refined, shortened

_RUNS = 2
_TRIES = 5


def settle_in(time: Callable[[StepPlan, int], Timed], plan: StepPlan, seconds: float) -> tuple[StepPlan, Timed]:
    """(the plan for all arms, the last run). seconds: how long the timed steps should last.

    time: one run by a plan, with the fewest steps that will do; called until two runs gave a step time and the last one was as
    planned, or until it is clear that none will.
    """
    timed = Timed(None, "", 0.0)
    good = 0
    for _ in range(_TRIES):
        before = plan
        timed = time(plan, 1)
        if timed.step_ms is not None:
            good += 1
            plan = refined(plan, timed.step_ms, seconds, timed.made)
        elif timed.made:
            plan = shortened(plan, timed.made)
        if timed.step_ms is None and plan == before:
            break
        if good >= _RUNS and plan == before:
            break
    return plan, timed
