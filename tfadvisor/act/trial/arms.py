"""The runs of a trial's arms: each once more, what it showed, and when the time is
over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tfadvisor.act.trial.ablation import ONE_DEVICE, not_here
from tfadvisor.act.trial.alike import Values, compare_values
from tfadvisor.act.trial.candidates import Candidate, environment_of, refused
from tfadvisor.act.trial.deciding import BASE, Enough
from tfadvisor.act.trial.less_work import Counts, counts_of, less_often
from tfadvisor.act.trial.one_run import Interrupted
from tfadvisor.act.trial.steps import StepPlan
from tfadvisor.act.trial.trial_result import DIFFERS, NOT_CHECKED, PART, SCALE
from tfadvisor.act.trial.tried_program import Timed, TriedProgram, settle_in

if TYPE_CHECKING:
    from tfadvisor.act.trial.orders import ProcessAnswer

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
        program: TriedProgram,
        plan: StepPlan,
        candidates: Sequence[Candidate],
        until: float,
        processes: int,
        tell: Tell,
    ) -> None:
        """until: when no run may end later, by time.monotonic(). processes: how many
        answer.
        """
        self.program, self.plan = program, plan
        self.until, self.processes, self.tell = until, processes, tell
        self.candidates = {BASE: UNCHANGED}
        self.candidates |= {candidate.name: candidate for candidate in candidates}
        self.values: dict[str, list[Values]] = {}
        self.broken: dict[str, str] = {}
        self.differing: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.longest_base = 0.0
        self.in_turns: set[str] = set()
        """Those that took turns in one process."""
        self.took: dict[str, int] = {}
        self.places: dict[str, tuple[str, ...]] = {}
        self.counts = Counts()
        """Of the program as it is."""
        self.less: dict[str, tuple[str, ...]] = {}
        """What each arm does less often."""

    def smoke(self, seconds: float) -> Timed:
        """The program as it is, before all rounds: until as many steps are timed as
        last so long. Raises Interrupted.
        """

        def timed(plan: StepPlan, fewest: int) -> Timed:
            self.plan = plan
            return self._run(
                BASE,
                max(self.left, 1.0),
                fewest,
                counting=True,
            )

        self.plan, last = settle_in(
            timed,
            self.plan,
            seconds,
        )
        self.counts = counts_of(last)
        return last

    def look_for_less(self, arm: str) -> None:
        """Once more, to see what it does less often, where there is time for it. Raises
        Interrupted.
        """
        if self._longest(arm) <= self.left:
            counted = self._run(arm, self._patience(), counting=True)
            self.less[arm] = less_often(self.counts, counts_of(counted))

    def refuse(self, versions: Mapping[str, str]) -> list[str]:
        """Settles those whose flags would be refused. Returns the names of the
        others.
        """
        for name, candidate in self.candidates.items():
            why = refused(candidate, versions)
            if why:
                self.broken[name] = f"its flags would be refused: {why}"
        return self.unbroken()

    def unbroken(self) -> list[str]:
        """Names of the arms that nothing speaks against by now."""
        names = [name for name in self.candidates if name != BASE]
        return [name for name in names if name not in self.broken]

    def measure(self, arm: str) -> float | None:
        """As deciding.rounds.Measure. Raises Enough."""
        if self._longest(arm) > self.left:
            raise Enough
        try:
            timed = self._run(arm, self._patience())
        except Interrupted:
            raise Enough from None

        if timed.step_ms is None and (arm == BASE or self._is_cut(timed)):
            raise Enough
        why = timed.why if timed.step_ms is None else self._why_broken(arm, timed)
        if why:
            self.broken[arm] = why
            return None
        return timed.step_ms

    def _patience(self) -> float:
        """How long a run may take, in seconds."""
        longest = self.longest_base
        patience = max(_PATIENCE * longest, longest + _PATIENCE_SECONDS)
        return min(patience, max(self.left, longest))

    def _is_cut(self, timed: Timed) -> bool:
        """Whether the budget ended a run."""
        return self.left <= 0 and "more than" in timed.why

    def _why_broken(
        self,
        arm: str,
        timed: Timed,
    ) -> str:
        """Although it gave a step time; "" for an arm that is not."""
        candidate = self.candidates[arm]
        if candidate.parts and not self.took[arm]:
            return "; ".join(map(not_here, candidate.parts))

        devices = timed.answers[0].devices
        if candidate.name == ONE_DEVICE and devices > 1:
            return f"the program takes {devices} devices whatever the variables say"

        keeps_results = arm != BASE and candidate.kind not in (PART, SCALE)
        if keeps_results and self.check(arm) == DIFFERS:
            return f"results differ: {self.differing[arm]}"
        return ""

    def afford(self, arms: Sequence[str]) -> bool:
        """Whether there is time for a run of each of these."""
        return sum(map(self._longest, arms)) <= self.left

    def _longest(self, arm: str) -> float:
        """That a run of it took, seconds; as of the program as it is before the
        first.
        """
        return self.seconds.get(arm, self.longest_base)

    @property
    def left(self) -> float:
        """Of the budget, seconds."""
        return self.until - time.monotonic()

    def check(self, arm: str) -> str:
        """same, differs or not checked, by all that is known by now."""
        base = self.values.get(BASE, [])
        new = self.values.get(arm, [])
        kind = self.candidates[arm].check
        word, what = compare_values(base, new, kind)
        if word == NOT_CHECKED and kind == "batches":
            word, what = compare_values(base, new, "values")
        self.differing[arm] = what
        return word

    def _run(
        self,
        arm: str,
        patience: float,
        fewest: int | None = None,
        *,
        counting: bool = False,
    ) -> Timed:
        candidate = self.candidates[arm]
        self.tell(candidate.name)
        set_up = replace(candidate, env=environment_of(candidate))
        timed = self.program.time(
            set_up,
            self.plan,
            patience,
            self.processes,
            fewest,
            counting=counting,
        )
        self._learn(arm, candidate.parts, timed)
        return timed

    def learn(
        self,
        candidates: Sequence[Candidate],
        answers: Sequence[ProcessAnswer],
    ) -> None:
        """From arms that took turns in one process."""
        for candidate in candidates:
            self.in_turns.add(candidate.name)
            self._count(candidate.name, candidate.parts, answers)

    def _learn(
        self,
        arm: str,
        parts: Sequence[str],
        timed: Timed,
    ) -> None:
        """From a run. parts: those whose hooks it had."""
        before = self.seconds.get(arm, 0.0)
        self.seconds[arm] = max(before, timed.seconds)
        if arm == BASE:
            self.longest_base = max(self.longest_base, timed.seconds)

        self._count(arm, parts, timed.answers)
        values = timed.answers[0].values if timed.answers else None
        if values:
            self.values.setdefault(arm, []).append(values)

    def _count(
        self,
        arm: str,
        parts: Sequence[str],
        answers: Sequence[ProcessAnswer],
    ) -> None:
        """How often the hooks of its parts took effect, and where."""
        took = 0
        places: set[tuple[str, int]] = set()
        for answer in answers:
            for part in parts:
                took += answer.took.get(part, 0)
                places.update(answer.places.get(part, ()))
        self.took[arm] = took
        self.places[arm] = tuple(
            f"{Path(file).name}:{line}" for file, line in sorted(places)
        )
