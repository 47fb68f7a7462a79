"""A trial from its first run to its result."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.act.trial.ablation import HOOKED, arms_for, profile_of
from tfadvisor.act.trial.ablation import STAGES as ABLATION_STAGES
from tfadvisor.act.trial.alternation import (
    Alternated,
    Alternation,
    can_alternate,
    seconds_needed,
)
from tfadvisor.act.trial.arms import Arms, Tell
from tfadvisor.act.trial.candidates import Candidate, identity_of
from tfadvisor.act.trial.deciding import (
    STAGES,
    Rounds,
    Standing,
    Standings,
    arms_of_round,
)
from tfadvisor.act.trial.forecast import Forecast, rounds_words
from tfadvisor.act.trial.one_run import (
    Interrupted,
    StopRequest,
    TrialRun,
    last_line,
)
from tfadvisor.act.trial.orders import KERAS, ProcessAnswer
from tfadvisor.act.trial.steps import StepPlan, agrees, choose_loop, plan_steps
from tfadvisor.act.trial.trial_result import (
    BETTER,
    BROKEN,
    CHANGE,
    DIFFERS,
    PART,
    SCALE,
    Arm,
    Delayed,
    StepRatio,
    TrialResult,
    TriedSteps,
)
from tfadvisor.act.trial.trial_words import summary_of
from tfadvisor.act.trial.tried_program import Timed, TriedProgram
from tfadvisor.errors import NothingToCompare, TraceError
from tfadvisor.units import budget_for, duration

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
_TRIES = 3
"""Starts of the process in which arms alternate: one that ends it is left out."""
_LEAST_ROUNDS = 2
"""Below which nothing is known of an arm."""
_MORE_TIME = "Give it more time, as --budget 30m, or smaller data."


class TrialRequest(msgspec.Struct, frozen=True):
    """What is to be tried, and with how much patience."""

    command: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    budget_seconds: float
    """No run begins that would end later."""
    step_ms: float | None = None
    """What a report says of the step."""
    ablate: bool = False
    """Whether the program's parts are taken out, one at a time."""
    epochs: bool = False
    """Whether what lies between turns of the steps' loop is timed with them."""

    @property
    def name(self) -> str:
        """The command as it is typed."""
        return " ".join(self.command)


class _Tried(msgspec.Struct, frozen=True):
    """All runs of a trial."""

    arms: Arms
    candidates: tuple[Candidate, ...]
    timed: Timed
    """The last of the first runs, of the program as it is."""
    standings: Standings
    complete: bool
    """Whether neither the budget nor the user ended it early."""
    steps: int
    """That are timed at once."""
    in_turns: bool = False
    """Whether the program as it is was timed in blocks of one process."""
    delays: tuple[Delayed, ...] = ()


def try_out(
    wanted: TrialRequest,
    stop: StopRequest,
    tell: Tell,
    announce: Tell = lambda _: None,
) -> TrialResult:
    """tell: shows what is done now. announce: says what will be done, before it.

    Raises UsageError for a program that cannot be started, TraceError for one that
    fails or never steps, Interrupted.
    """
    began = time.monotonic()
    program = TriedProgram(wanted.command, stop)
    tell("looks for the loop of the steps")
    watched = _watched(program, wanted)
    plan = _plan(watched, wanted)
    stepping = _stepping(watched, plan)

    candidates: tuple[Candidate, ...] = wanted.candidates
    missing: dict[str, str] = {}
    if wanted.ablate:
        ablated, missing = arms_for([stepping[0], *watched.answers])
        candidates = (*candidates, *ablated)
    until = began + wanted.budget_seconds
    arms = Arms(
        program,
        plan,
        candidates,
        until,
        len(stepping),
        tell,
    )
    arms.broken |= missing
    refused = arms.refuse(stepping[0].versions)
    forecast = _forecast(
        arms, watched, [name for name in refused if name not in missing]
    )
    if not plan.whole_turns:  # how long an epoch takes is not known yet
        announce(forecast.words())
        _check_forecast(forecast, wanted)
    alternated = _alternated(arms, watched) if forecast.in_turns else None
    tried = _decided(arms, candidates, wanted, alternated, announce)
    return _result(
        tried,
        stepping[0],
        wanted,
        time.monotonic() - began,
    )


def _check_forecast(forecast: Forecast, wanted: TrialRequest) -> None:
    """Raises NothingToCompare where the budget can tell nothing."""
    if forecast.alone and forecast.is_hopeless:
        spent = wanted.budget_seconds - forecast.left
        raise NothingToCompare(
            wanted.name,
            f"a run takes about {duration(1000 * forecast.run_seconds)}, so that "
            "nothing could be told within the budget, and no candidate was run.",
            f"{budget_for(spent + forecast.needed)} would do for all.",
        )


def _forecast(
    arms: Arms,
    watched: TrialRun,
    names: Sequence[str],
) -> Forecast:
    """names: of the arms that are left."""
    candidates = [arms.candidates[name] for name in names]
    step_ms = _seen_step_ms(watched, arms.plan)
    in_turns: list[Candidate] = []
    if arms.processes == 1 and not arms.plan.whole_turns:
        in_turns = can_alternate(candidates, watched.answers)
    run_seconds = _seconds_of_run(watched, arms.plan)
    forecast = Forecast(
        left=arms.until - time.monotonic(),
        in_turns=[in_turn.name for in_turn in in_turns],
        in_turns_seconds=run_seconds + seconds_needed(len(in_turns), step_ms),
        alone=[name for name in names if arms.candidates[name] not in in_turns],
        run_seconds=run_seconds,
    )
    if in_turns and forecast.in_turns_seconds <= forecast.left:
        return forecast
    return replace(forecast, in_turns=(), in_turns_seconds=0.0, alone=names)


def _seconds_of_run(watched: TrialRun, plan: StepPlan) -> float:
    """Of a run that times steps: all that the watched one took outside of the loop,
    its first round included, in which it may compile.
    """
    loops = [loop for answer in watched.answers for loop in answer.loops]
    mine = [loop for loop in loops if loop.place == plan.loop]
    inside = max(loop.usual_seconds for loop in mine)
    rounds = plan.warm + plan.count
    step_ms = _seen_step_ms(watched, plan)
    return max(watched.seconds - inside, 0.0) + rounds * step_ms / 1000


def _alternated(
    arms: Arms,
    watched: TrialRun,
) -> Alternated | None:
    """What one process decides; None where no arm can alternate, or there is no time
    for it.
    """
    named = list(arms.candidates.values())
    step_ms = _seen_step_ms(watched, arms.plan)
    for _ in range(_TRIES):
        candidates = [
            candidate
            for candidate in can_alternate(named, watched.answers)
            if candidate.name not in arms.broken
        ]
        if not candidates or time.monotonic() > arms.until:
            return None
        found = Alternation(candidates, arms.plan, step_ms, arms.until, arms.tell).run(
            arms.program
        )
        if found.standings.base:
            arms.learn(candidates, found.timed.answers)
            return found
        if not found.why or not found.arm:
            return None
        arms.broken[found.arm] = found.why
    return None


def _seen_step_ms(
    watched: TrialRun,
    plan: StepPlan,
) -> float:
    """Of a round, as it was watched."""
    loops = [loop for answer in watched.answers for loop in answer.loops]
    return max(1000 * loop.period for loop in loops if loop.place == plan.loop)


def _watched(program: TriedProgram, wanted: TrialRequest) -> TrialRun:
    few_rounds = _FEW_ROUNDS * (wanted.step_ms or 0.0) / 1000
    return program.watch(
        wanted.budget_seconds,
        max(_WATCHED * _TIMED_SECONDS, few_rounds),
        parts=HOOKED if wanted.ablate else (),
        step_ms=wanted.step_ms,
    )


def _stepping(
    watched: TrialRun,
    plan: StepPlan,
) -> list[ProcessAnswer]:
    """The processes that go through the loop of the steps."""
    found = []
    for answer in watched.answers:
        places = {loop.place for loop in answer.loops}
        if plan.loop in places:
            found.append(answer)
    return found


def _plan(watched: TrialRun, wanted: TrialRequest) -> StepPlan:
    name = wanted.name
    if watched.late:
        raise TraceError(
            name, f"came to no steps within {watched.seconds:.0f} s.", _MORE_TIME
        )
    if not watched.answers or watched.code:
        ended = "gave no step."
        if watched.code:
            ended = f"ended with exit code {watched.code}{last_line(watched.tail)}."
        remedy = (
            "Run it by itself first. Python started with -I, -E or -S keeps the "
            "clock out, and so does a container."
        )
        raise TraceError(name, ended, remedy)

    seen = [loop for answer in watched.answers for loop in answer.loops]
    chosen = choose_loop(seen, wanted.step_ms)
    if chosen is None:
        raise TraceError(
            name,
            "has no steps: no loop of its own files, and no Keras fit, went round "
            "eight times.",
            "Let it make more steps. Loops of installed packages are not looked at.",
        )
    return plan_steps(
        chosen,
        _TIMED_SECONDS,
        all(answer.ended for answer in watched.answers),
        wanted.epochs,
    )


def _decided(
    arms: Arms,
    candidates: tuple[Candidate, ...],
    wanted: TrialRequest,
    alternated: Alternated | None,
    announce: Tell,
) -> _Tried:
    """Raises TraceError, NothingToCompare."""
    known = _judged_in_turns(alternated)
    left = [name for name in arms.unbroken() if name not in known]
    ended = arms.program.stop.came
    if alternated is not None and (ended or not left):
        return _in_turns(arms, candidates, wanted, alternated, complete=not ended)

    timed = arms.smoke(_TIMED_SECONDS)
    if alternated is not None and timed.step_ms is None:
        return _in_turns(arms, candidates, wanted, alternated, complete=False)
    step_ms = _checked(timed, arms, wanted)
    stages = ABLATION_STAGES if wanted.ablate else STAGES
    if not known:
        _check_rounds(arms, left[:1], stages[0], wanted)
    _announce_rounds(arms, left, stages, announce)
    rounds = Rounds(
        left,
        arms.measure,
        stages,
        afford=arms.afford,
    )
    standings = _standings(rounds, left, step_ms)
    complete = not arms.program.stop.came and not rounds.stopped
    _look_for_less(arms, standings)
    return _Tried(
        arms,
        candidates,
        timed,
        Standings(standings.base, {**known, **standings.arms}),
        complete,
        steps=arms.plan.count,
        delays=alternated.delays if alternated is not None else (),
    )


def _standings(rounds: Rounds, left: Sequence[str], step_ms: float) -> Standings:
    """Of the arms that are left, which may be none."""
    return rounds.decide() if left else Standings((step_ms,), {})


def _announce_rounds(
    arms: Arms, left: Sequence[str], stages: Sequence[int], announce: Tell
) -> None:
    if left:
        announce(rounds_words(left, stages, arms.longest_base, arms.left))


def _check_rounds(
    arms: Arms, names: Sequence[str], rounds: int, wanted: TrialRequest
) -> None:
    """Whether what is left of the budget can tell anything of these arms. rounds: after
    which they are decided. Raises NothingToCompare.
    """
    runs = arms_of_round(names)
    if not names or arms.afford(runs * _LEAST_ROUNDS):
        return
    spent = wanted.budget_seconds - arms.left
    needed = spent + rounds * len(runs) * arms.longest_base
    raise NothingToCompare(
        wanted.name,
        f"a run takes {duration(1000 * arms.longest_base)}, so that nothing could be "
        "told within the budget, and no candidate was run.",
        f"{budget_for(needed)} would do for one candidate.",
    )


def _look_for_less(arms: Arms, standings: Standings) -> None:
    """Whether changes that are better do less."""
    for name, standing in standings.arms.items():
        is_change = arms.candidates[name].kind == CHANGE
        if is_change and standing.outcome == BETTER and not arms.program.stop.came:
            with suppress(Interrupted):
                arms.look_for_less(name)


def _judged_in_turns(alternated: Alternated | None) -> dict[str, Standing]:
    """Arms of which enough turns were whole; the others are started alone."""
    if alternated is None:
        return {}
    arms = alternated.standings.arms.items()
    return {name: standing for name, standing in arms if standing.effect is not None}


def _in_turns(
    arms: Arms,
    candidates: tuple[Candidate, ...],
    wanted: TrialRequest,
    alternated: Alternated,
    *,
    complete: bool,
) -> _Tried:
    """A trial of which no other run counts. Raises NothingToCompare."""
    _checked(alternated.timed, arms, wanted)
    return _Tried(
        arms,
        candidates,
        alternated.timed,
        alternated.standings,
        complete,
        steps=alternated.steps,
        in_turns=True,
        delays=alternated.delays,
    )


def _checked(
    timed: Timed,
    arms: Arms,
    wanted: TrialRequest,
) -> float:
    """The step of the program as it is, ms."""
    if timed.step_ms is None:
        if time.monotonic() >= arms.until:
            raise TraceError(
                wanted.name, "two runs of it took longer than the budget.", _MORE_TIME
            )
        raise TraceError(
            wanted.name, f"{timed.why}.", "It was not changed; run it once by itself."
        )

    step_ms = None if wanted.epochs else wanted.step_ms
    if step_ms is not None and not agrees(timed.step_ms, step_ms):
        raise NothingToCompare(
            wanted.name,
            f"a round of {_loop_words(arms.plan)} takes {duration(timed.step_ms)}, the "
            f"report's step {duration(step_ms)}.",
            "Give the report of this program, recorded with these arguments on this "
            "machine.",
        )
    return timed.step_ms


def _loop_words(plan: StepPlan) -> str:
    """`train.py:41 in train`."""
    loop = plan.loop
    if loop.file == KERAS:
        return "Keras' fit"

    file = Path(os.path.relpath(loop.file)).as_posix()
    if file.startswith(".."):
        file = Path(loop.file).name
    where = "" if plan.function == "<module>" else f" in {plan.function}"
    return f"{file}:{loop.line}{where}"


def _result(
    tried: _Tried,
    about: ProcessAnswer,
    wanted: TrialRequest,
    seconds: float,
) -> TrialResult:
    arms, timed, standings = tried.arms, tried.timed, tried.standings
    shown = []
    for candidate in tried.candidates:
        standing = standings.arms.get(candidate.name)
        shown.append(_arm(candidate, standing, arms))
    outcome, summary = summary_of(shown, tried.complete)
    plan = arms.plan
    return TrialResult(
        outcome=outcome,
        summary=summary,
        command=wanted.command,
        versions=about.versions,
        device=about.device,
        steps=TriedSteps(
            _loop_words(plan),
            plan.warm,
            tried.steps,
            timed.between,
            tried.in_turns,
            plan.whole_turns,
        ),
        base_step_ms=standings.base or _only(timed.step_ms),
        arms=tuple(shown),
        complete=tried.complete,
        seconds=seconds,
        profile=profile_of(shown) if wanted.ablate else "",
        delays=tried.delays,
    )


def _only(step_ms: float | None) -> tuple[float, ...]:
    return () if step_ms is None else (step_ms,)


def _arm(
    candidate: Candidate,
    standing: Standing | None,
    arms: Arms,
) -> Arm:
    name = candidate.name
    check = arms.check(name)
    broken = arms.broken.get(name, "")
    if check == DIFFERS and not broken and candidate.kind not in (PART, SCALE):
        # Only the last runs of the program itself have shown it.
        broken = f"results differ: {arms.differing[name]}"

    standing = standing or _NOT_RUN
    outcome = BROKEN if broken else standing.outcome
    effect = standing.effect
    return Arm(
        name=name,
        rule_id=candidate.rule_id,
        category=candidate.category,
        change=candidate.change,
        identity=identity_of(candidate),
        outcome=outcome,
        why=broken,
        ratio=StepRatio(effect.ratio, effect.low, effect.high) if effect else None,
        p=effect.p if effect else None,
        predicted=candidate.promise,
        check=check,
        effect=candidate.effect,
        step_ms=standing.runs,
        smallest_change=standing.smallest if outcome != BETTER else None,
        kind=candidate.kind,
        took=arms.took.get(name, 0),
        places=arms.places.get(name, ()),
        in_turns=name in arms.in_turns,
        less=arms.less.get(name, ()),
    )


_NOT_RUN = Standing(
    BROKEN,
    None,
    (),
    None,
)
