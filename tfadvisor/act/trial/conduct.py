"""A trial from its first run to its result."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from tfadvisor.act.trial.ablation import HOOKED, PART, SCALE, arms_for, profile_of
from tfadvisor.act.trial.ablation import STAGES as ABLATION_STAGES
from tfadvisor.act.trial.arms import Arms, Tell
from tfadvisor.act.trial.candidates import Candidate, identity_of
from tfadvisor.act.trial.deciding import STAGES, Rounds, Standing, Standings
from tfadvisor.act.trial.one_run import Asked, Program, Run, last_line
from tfadvisor.act.trial.result import (
    BETTER,
    BROKEN,
    DIFFERS,
    Arm,
    Ratio,
    TrialResult,
    TriedSteps,
    summary_of,
)
from tfadvisor.act.trial.steps import (
    KERAS,
    Loop,
    StepPlan,
    agrees,
    choose_loop,
    plan_steps,
)
from tfadvisor.errors import NothingToCompare, TraceError
from tfadvisor.units import duration

_TIMED_SECONDS = 2.0
"""How long the steps of one run are timed."""
_WATCHED = 3.0
"""For so many times as long as steps are timed loops are watched: those that check or
set up before training are over by then.
"""
_FEW_ROUNDS = 10
"""Or for so many steps of a report: they may take half as long again without a rhythm
of their own.
"""
_MORE_TIME = "Give it more time, as --budget 30m, or smaller data."


class Wanted(msgspec.Struct, frozen=True):
    """What is to be tried, and with how much patience."""

    command: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    budget_seconds: float
    """No run begins that would end later."""
    step_ms: float | None = None
    """What a report says of the step."""
    ablate: bool = False
    """Whether the program's parts are taken out, one at a time."""


def try_out(wanted: Wanted, asked: Asked, tell: Tell) -> TrialResult:
    """Raises UsageError for a program that cannot be started, TraceError for one that
    fails or never steps, Interrupted.
    """
    began = time.monotonic()
    until = began + wanted.budget_seconds
    program = Program(wanted.command, asked)
    tell("looks for the loop of the steps")
    parts = HOOKED if wanted.ablate else ()
    seconds = max(
        _WATCHED * _TIMED_SECONDS, _FEW_ROUNDS * (wanted.step_ms or 0.0) / 1000
    )
    watched = program.watch(
        wanted.budget_seconds, seconds, parts=parts, step_ms=wanted.step_ms
    )
    plan = _plan(watched, wanted)
    stepping = [
        one
        for one in watched.answers
        if any(Loop(loop.file, loop.line) == plan.loop for loop in one.loops)
    ]
    versions = stepping[0].versions
    ablated, missing = (
        arms_for([stepping[0], *watched.answers]) if wanted.ablate else ((), {})
    )
    candidates = (*wanted.candidates, *ablated)
    arms = Arms(program, plan, candidates, until, len(stepping), tell)
    arms.broken |= missing
    timed = arms.smoke(_TIMED_SECONDS)
    if timed.step_ms is None and time.monotonic() >= until:
        raise TraceError(
            " ".join(wanted.command),
            "two runs of it took longer than the budget.",
            _MORE_TIME,
        )
    if timed.step_ms is None:
        raise TraceError(
            " ".join(wanted.command),
            f"{timed.why}.",
            "It was not changed; run it once by itself.",
        )
    if wanted.step_ms is not None and not agrees(timed.step_ms, wanted.step_ms):
        raise NothingToCompare(
            " ".join(wanted.command),
            f"a round of {_told_by(plan)} takes {duration(timed.step_ms)}, the "
            f"report's step {duration(wanted.step_ms)}.",
            "Give the report of this program, recorded with these arguments on this "
            "machine.",
        )
    tried = arms.refuse(versions)
    rounds = Rounds(
        tried,
        arms.measure,
        ABLATION_STAGES if wanted.ablate else STAGES,
        afford=arms.afford,
    )
    standings = rounds.decide() if tried else Standings((timed.step_ms,), {})
    alone = tuple(_arm(one, standings.arms.get(one.name), arms) for one in candidates)
    complete = not asked.end and not rounds.stopped
    outcome, summary = summary_of(alone, complete)
    return TrialResult(
        outcome=outcome,
        summary=summary,
        command=wanted.command,
        versions=versions,
        device=timed.answers[0].device,
        steps=TriedSteps(
            _told_by(plan), arms.plan.warm, arms.plan.count, timed.between
        ),
        base_step_ms=standings.base or (timed.step_ms,),
        arms=alone,
        complete=complete,
        seconds=time.monotonic() - began,
        profile=profile_of(alone) if wanted.ablate else "",
    )


def _plan(watched: Run, wanted: Wanted) -> StepPlan:
    name = " ".join(wanted.command)
    if watched.late:
        raise TraceError(
            name, f"came to no steps within {watched.seconds:.0f} s.", _MORE_TIME
        )
    if not watched.answers or watched.code:
        ended = (
            f"ended with exit code {watched.code}{last_line(watched.tail)}."
            if watched.code
            else "gave no step."
        )
        remedy = (
            "Run it by itself first. Python started with -I, -E or -S keeps the "
            "clock out, and so does a container."
        )
        raise TraceError(name, ended, remedy)
    seen = [loop for one in watched.answers for loop in one.loops]
    chosen = choose_loop(seen, wanted.step_ms)
    if chosen is None:
        raise TraceError(
            name,
            "has no steps: no loop of its own files, and no Keras fit, went round "
            "eight times.",
            "Let it make more steps. Loops of installed packages are not looked at.",
        )
    return plan_steps(chosen, _TIMED_SECONDS, all(one.ended for one in watched.answers))


def _told_by(plan: StepPlan) -> str:
    """`train.py:41 in train`."""
    if plan.loop.file == KERAS:
        return "Keras' fit"
    here = Path(os.path.relpath(plan.loop.file)).as_posix()
    where = "" if plan.function == "<module>" else f" in {plan.function}"
    return f"{here if not here.startswith('..') else Path(plan.loop.file).name}:{plan.loop.line}{where}"


def _arm(candidate: Candidate, standing: Standing | None, arms: Arms) -> Arm:
    broken = arms.broken.get(candidate.name, "")
    check = arms.check(candidate.name)
    if check == DIFFERS and not broken and candidate.kind not in (PART, SCALE):
        # which only the last runs of the program itself have shown
        broken = f"results differ: {arms.differing[candidate.name]}"
    effect = standing.effect if standing else None
    outcome = BROKEN if broken or standing is None else standing.outcome
    return Arm(
        name=candidate.name,
        rule_id=candidate.rule_id,
        category=candidate.category,
        change=candidate.change,
        identity=identity_of(candidate),
        outcome=outcome,
        why=broken,
        ratio=Ratio(effect.ratio, effect.low, effect.high) if effect else None,
        p=effect.p if effect else None,
        predicted=candidate.promise,
        check=check,
        effect=candidate.effect,
        step_ms=standing.runs if standing else (),
        smallest_change=standing.smallest if standing and outcome != BETTER else None,
        kind=candidate.kind,
        took=arms.took.get(candidate.name, 0),
        places=arms.places.get(candidate.name, ()),
    )
