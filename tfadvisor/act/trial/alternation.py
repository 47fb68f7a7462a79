"""Arms in turns within one process: what can be taken out and put back while the
program runs costs neither another start nor another compilation.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import ceil, sqrt
from pathlib import Path
from statistics import fmean, median

import msgspec

from tfadvisor.act.record.injected.tfadvisor_hook.letters import read_letter
from tfadvisor.act.trial.arms import Tell
from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.deciding import BASE, Rounds, Standings
from tfadvisor.act.trial.effect import CONFIDENCE, deviation_of
from tfadvisor.act.trial.injected.tfadvisor_trial_hook import ENOUGH
from tfadvisor.act.trial.injected.tfadvisor_trial_hook.program_parts import DELAY
from tfadvisor.act.trial.one_run import Interrupted
from tfadvisor.act.trial.orders import ProcessAnswer, TurnBlock, Turns
from tfadvisor.act.trial.steps import StepPlan
from tfadvisor.act.trial.trial_result import OPEN, PART, SCALE, Delayed
from tfadvisor.act.trial.tried_program import Timed, TriedProgram, why_ended
from tfadvisor.comparison.statistics import t_quantile

STAGES = (4, 6, 9, 12)
"""Turns after which to look."""
_BLOCK_SECONDS = 0.3
_FEWEST_STEPS, _MOST_STEPS = 3, 200
"""Of a block."""
_ASIDE = 2
"""Turns that do not count: in the first all arms compile, and the host's times of the
loop's statements are taken.
"""
_FEWEST_DELAYS = 3


_NO_TURNS = Turns(0, (), (), 0, {})


class Alternated(msgspec.Struct, frozen=True):
    """What the arms of one process showed."""

    standings: Standings
    delays: tuple[Delayed, ...]
    timed: Timed
    """The program as it is."""
    steps: int
    """Of each block."""
    why: str = ""
    """Why the run ended before its time; "" for none."""
    arm: str = ""
    """The one that ran then, "" for the program as it is."""


def can_alternate(
    candidates: Sequence[Candidate],
    answers: Sequence[ProcessAnswer],
) -> list[Candidate]:
    """Arms that take out, within a run, what its hooks can also leave in. answers: of
    the run in which all hooks counted."""
    settled = {part for answer in answers for part in answer.settled}
    took = {part for answer in answers for part, times in answer.took.items() if times}
    found = []
    for candidate in candidates:
        is_part = candidate.kind in (PART, SCALE) and candidate.parts
        if is_part and set(candidate.parts) <= took - settled:
            found.append(candidate)
    return found


def steps_of_block(step_ms: float) -> int:
    """So many are timed at once."""
    steps = ceil(1000 * _BLOCK_SECONDS / max(step_ms, 1e-3))
    return min(max(steps, _FEWEST_STEPS), _MOST_STEPS)


def seconds_needed(
    arms: int,
    step_ms: float,
) -> float:
    """For the first turns of so many arms, after the program has started."""
    blocks = (arms + 3) * (STAGES[0] + _ASIDE)
    return blocks * (steps_of_block(step_ms) + 2) * step_ms / 1000


class Alternation:
    """One run of the program with several arms."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        plan: StepPlan,
        step_ms: float,
        until: float,
        tell: Tell,
    ) -> None:
        """until: when it ends at the latest, by time.monotonic()."""
        self.names = [candidate.name for candidate in candidates]
        self.parts = [tuple(candidate.parts) for candidate in candidates]
        self.plan, self.step_ms = plan, step_ms
        self.until, self.tell = until, tell
        self.seen: Turns | None = None
        """The last that the program reported."""

    def run(self, program: TriedProgram) -> Alternated:
        """Until all arms are decided, the turns are over, there is no time left or the
        user asks for the end. Raises UsageError; Interrupted before the first turn.
        """
        began = time.monotonic()
        try:
            run = program.alternate(
                self.plan,
                steps_of_block(self.step_ms),
                [(), *self.parts],
                [*sum(self.parts, ()), DELAY],
                self.until - began,
                self.look,
            )
        except Interrupted:
            if self.seen is None:
                raise
            return self.found(self.seen, time.monotonic() - began)
        answers = tuple(answer for answer in run.answers if answer.turns is not None)
        turns = answers[0].turns if answers else self.seen
        return self.found(turns or _NO_TURNS, run.seconds, answers, why_ended(run))

    def found(
        self,
        turns: Turns,
        seconds: float,
        answers: tuple[ProcessAnswer, ...] = (),
        why: str = "",
    ) -> Alternated:
        """What turns showed, which may be none. why: as of what it gives."""
        rounds = self.rounds(turns.blocks)
        rounds.look()
        return Alternated(
            standings=rounds.standings(),
            delays=_delays_of(turns),
            timed=_timed(rounds.base, seconds, answers),
            steps=steps_of_block(self.step_ms),
            why=why,
            arm=self.name_of(turns),
        )

    def name_of(self, turns: Turns) -> str:
        """Of the arm that ran last, "" for none of ours."""
        return self.names[turns.arm - 1] if 0 < turns.arm <= len(self.names) else ""

    def look(self, folder: Path) -> None:
        """While it runs: whether all that it can decide is decided."""
        letters = sorted(folder.glob("turns-*.json"))
        letter = read_letter(str(letters[0])) if letters else None
        if letter is None:
            return
        turns = msgspec.convert(letter, Turns)
        before = 0 if self.seen is None else _done(self.seen)
        done = _done(turns)
        if done == before:
            return
        self.seen = turns
        self.tell(f"turn {done} of at most {STAGES[-1]} in one process")
        if any(before < stage <= done for stage in STAGES):
            rounds = self.rounds(turns.blocks)
            rounds.look()
            decided = OPEN not in rounds.outcomes.values()
            if decided or done >= STAGES[-1]:
                (folder / ENOUGH).touch()

    def rounds(self, blocks: Sequence[TurnBlock]) -> Rounds:
        """Each whole turn is a round."""
        rounds = Rounds(self.names, _never, STAGES)
        for blocks_of_turn in _by_turn(blocks):
            by_arm: dict[int, list[float]] = {}
            for block in blocks_of_turn:
                by_arm.setdefault(block.arm, []).append(block.step_ms)
            base = by_arm.get(0, [])
            new = {}
            for number, name in enumerate(self.names, start=1):
                if number in by_arm:
                    new[name] = fmean(by_arm[number])
            if base and len(new) == len(self.names):
                rounds.add(base, new)
        return rounds


def _done(turns: Turns) -> int:
    """So many count."""
    return max(turns.turn - _ASIDE + 1, 0)


def _never(arm: str) -> float | None:
    raise AssertionError(arm or BASE)


def _by_turn(blocks: Sequence[TurnBlock]) -> list[list[TurnBlock]]:
    """Those that count."""
    turns: dict[int, list[TurnBlock]] = {}
    for block in blocks:
        if block.turn >= _ASIDE:
            turns.setdefault(block.turn, []).append(block)
    return list(turns.values())


def _timed(
    base: Sequence[float],
    seconds: float,
    answers: tuple[ProcessAnswer, ...],
) -> Timed:
    samples = [answer.sample for answer in answers if answer.sample is not None]
    return Timed(
        step_ms=median(base) if base else None,
        why="",
        seconds=seconds,
        answers=answers,
        between=max((sample.between_share for sample in samples), default=0.0),
    )


def _delays_of(turns: Turns) -> tuple[Delayed, ...]:
    """How much longer a round takes for each second that a statement takes longer."""
    found = []
    for number, arm in enumerate(turns.arms):
        name = "".join(arm)
        if not name.startswith(f"{DELAY} "):
            continue
        factors, delays = _factors(turns, number)
        if len(factors) < _FEWEST_DELAYS:
            continue
        deviation = deviation_of([factors])
        quantile = t_quantile((1 - CONFIDENCE) / 2, deviation.freedom)
        reach = quantile * deviation.sigma / sqrt(len(factors))
        file, line = turns.delays[name]
        found.append(
            Delayed(
                place=f"{Path(file).name}:{line}",
                delay_ms=fmean(delays),
                factor=fmean(factors),
                low=fmean(factors) - reach,
                high=fmean(factors) + reach,
            )
        )
    return tuple(found)


def _factors(
    turns: Turns,
    arm: int,
) -> tuple[list[float], list[float]]:
    """(one of each turn, each turn's delay of a round in ms)."""
    factors = []
    delays = []
    for blocks in _by_turn(turns.blocks):
        base = [block.step_ms for block in blocks if block.arm == 0]
        for block in blocks:
            if block.arm == arm and base and block.delayed > 0:
                delay_ms = 1000 * block.delayed / block.steps
                delays.append(delay_ms)
                factors.append((block.step_ms - fmean(base)) / delay_ms)
    return factors, delays
