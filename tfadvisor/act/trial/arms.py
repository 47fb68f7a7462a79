"""The runs of a trial's arms: each once more, what it showed, and when the time is
over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from tfadvisor.act.trial.ablation import ONE_DEVICE, PART, SCALE, not_here
from tfadvisor.act.trial.candidates import Candidate, environment_of, refused
from tfadvisor.act.trial.deciding import BASE, Enough, Values, compare_values
from tfadvisor.act.trial.one_run import Interrupted, Program, Timed, settle_in
from tfadvisor.act.trial.result import DIFFERS, NOT_CHECKED
from tfadvisor.act.trial.steps import StepPlan

UNCHANGED = Candidate(name="the program as it is")
_PATIENCE = 3.0
_PATIENCE_SECONDS = 60.0
"""A run may take three times as long as one of the program as it is, or a minute more:
compiling takes its time.
"""
Tell = Callable[[str], None]
"""Shows what is being done."""


class Arms:
    """What every run of every arm gave."""

    def __init__(
        self,
        program: Program,
        plan: StepPlan,
        candidates: Sequence[Candidate],
        until: float,
        processes: int,
        tell: Tell,
    ) -> None:
        """until: when no run may end later, by time.monotonic(). processes: how many
        answer.
        """
        self.program, self.plan, self.until, self.processes, self.tell = (
            program,
            plan,
            until,
            processes,
            tell,
        )
        self.candidates = {BASE: UNCHANGED, **{one.name: one for one in candidates}}
        self.values: dict[str, list[Values]] = {}
        self.broken: dict[str, str] = {}
        self.differing: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.longest_base = 0.0
        self.took: dict[str, int] = {}
        self.places: dict[str, tuple[str, ...]] = {}

    def smoke(self, seconds: float) -> Timed:
        """The program as it is, before all rounds: until as many steps are timed as
        last so long. Raises Interrupted.
        """

        def timed(plan: StepPlan, fewest: int) -> Timed:
            self.plan = plan
            return self._run(BASE, max(self.until - time.monotonic(), 1.0), fewest)

        self.plan, last = settle_in(timed, self.plan, seconds)
        return last

    def refuse(self, versions: Mapping[str, str]) -> list[str]:
        """Settles those whose flags would be refused. Returns the names of the
        others.
        """
        for name, one in self.candidates.items():
            if why := refused(one, versions):
                self.broken[name] = f"its flags would be refused: {why}"
        return [
            one for one in self.candidates if one != BASE and one not in self.broken
        ]

    def measure(self, arm: str) -> float | None:
        """As deciding.rounds.Measure. Raises Enough."""
        if time.monotonic() + self.seconds.get(arm, self.longest_base) > self.until:
            raise Enough
        patience = max(
            _PATIENCE * self.longest_base, self.longest_base + _PATIENCE_SECONDS
        )
        try:
            timed = self._run(
                arm,
                min(patience, max(self.until - time.monotonic(), self.longest_base)),
            )
        except Interrupted:
            raise Enough from None
        if timed.step_ms is None:
            if arm == BASE or (
                time.monotonic() >= self.until and "more than" in timed.why
            ):
                raise Enough
            self.broken[arm] = timed.why
            return None
        candidate = self.candidates[arm]
        if candidate.parts and not self.took[arm]:
            self.broken[arm] = "; ".join(map(not_here, candidate.parts))
            return None
        if candidate.name == ONE_DEVICE and timed.answers[0].devices > 1:
            self.broken[arm] = (
                f"the program takes {timed.answers[0].devices} devices whatever the "
                "variables say"
            )
            return None
        if (
            arm != BASE
            and candidate.kind not in (PART, SCALE)
            and self.check(arm) == DIFFERS
        ):
            self.broken[arm] = f"results differ: {self.differing[arm]}"
            return None
        return timed.step_ms

    def afford(self, arms: Sequence[str]) -> bool:
        """Whether there is time for a run of each of these."""
        return (
            time.monotonic()
            + sum(self.seconds.get(one, self.longest_base) for one in arms)
            <= self.until
        )

    def check(self, arm: str) -> str:
        """same, differs or not checked, by all that is known by now."""
        kind = self.candidates[arm].check
        word, what = compare_values(
            self.values.get(BASE, []), self.values.get(arm, []), kind
        )
        if word == NOT_CHECKED and kind == "batches":
            word, what = compare_values(
                self.values.get(BASE, []), self.values.get(arm, []), "values"
            )
        self.differing[arm] = what
        return word

    def _run(self, arm: str, patience: float, fewest: int | None = None) -> Timed:
        candidate = self.candidates[arm]
        self.tell(candidate.name)
        set_up = replace(candidate, env=environment_of(candidate))
        timed = self.program.time(set_up, self.plan, patience, self.processes, fewest)
        self.seconds[arm] = max(self.seconds.get(arm, 0.0), timed.seconds)
        if arm == BASE:
            self.longest_base = max(self.longest_base, timed.seconds)
        self.took[arm] = sum(
            answer.took.get(one, 0)
            for answer in timed.answers
            for one in candidate.parts
        )
        found = {
            place
            for answer in timed.answers
            for one in candidate.parts
            for place in answer.places.get(one, ())
        }
        self.places[arm] = tuple(
            f"{Path(file).name}:{line}" for file, line in sorted(found)
        )
        for answer in timed.answers[:1]:
            if answer.values:
                self.values.setdefault(arm, []).append(answer.values)
        return timed
