"""When arms that alternate in one process are looked at, and when they end."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tfadvisor.act.record.injected.tfadvisor_hook.letters import write_letter
from tfadvisor.act.trial.alternation import STAGES, Alternation
from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.injected.tfadvisor_trial_hook import ENOUGH
from tfadvisor.act.trial.orders import TurnBlock, Turns
from tfadvisor.act.trial.steps import StepLoop, StepPlan

LOOP = StepLoop("train.py", 3)


def answered(folder: Path, turn: int) -> None:
    """The program writes that this turn begins; arms that are alike, so none wins."""
    steps_ms = (10.0, 10.3, 9.8, 10.1)
    blocks = tuple(
        TurnBlock(arm, one, steps_ms[(one + arm) % 4] * 0.03, 30, 0.0)
        for one in range(turn)
        for arm in (0, 1)
    )
    turns = Turns(turn, blocks, ((), ("saving",)), 1, {})
    write_letter(str(folder / "turns-7.json"), msgspec.to_builtins(turns))


def looking() -> Alternation:
    return Alternation(
        [Candidate("saving")],
        StepPlan(LOOP, "main", 0, 10),
        10.0,
        0.0,
        lambda words: None,
    )


def test_turns_that_pass_between_two_looks_end_it_all_the_same(tmp_path: Path) -> None:
    """A short step on a busy machine: the last stage begins and ends unseen."""
    alternation = looking()
    answered(tmp_path, 4)
    alternation.look(tmp_path)
    assert not (tmp_path / ENOUGH).exists()

    answered(tmp_path, STAGES[-1] + 40)
    alternation.look(tmp_path)
    assert (tmp_path / ENOUGH).exists()
