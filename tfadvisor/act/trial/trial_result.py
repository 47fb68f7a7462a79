"""What a trial found, as it is written for machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tfadvisor.comparison.ledger import OUTCOMES
from tfadvisor.printable import plain
from tfadvisor.report import Tool
from tfadvisor.version import VERSION

SCHEMA_VERSION = "1"
BETTER, NOT_BETTER, OPEN, BROKEN = OUTCOMES
SAME, DIFFERS, NOT_CHECKED = "same", "differs", "not checked"
WINNER, NONE_BETTER, CANNOT_TELL = "winner", "none better", "cannot tell"
CHANGE, PART, SWITCH, SCALE = "change", "part", "switch", "scale"
"""Kinds of an arm: a change of the program; of an ablation, what the program does,
taken out; a setting; less to do.
"""


class Share(msgspec.Struct, frozen=True):
    """A range of shares of step time."""

    low: float
    """0..1; below 0 is slower."""
    high: float
    """0..1."""


class StepRatio(msgspec.Struct, frozen=True):
    """New step time over old, and where it lies with 95% confidence."""

    estimate: float
    low: float
    high: float


class TriedSteps(msgspec.Struct, frozen=True):
    """What was timed, the same in all arms."""

    told_by: str
    """`train.py:41 in train`, or Keras' fit."""
    warm: int
    """Steps set aside first."""
    timed: int
    """Steps that are timed in each run, or block."""
    between: float = 0.0
    """Share of the program's time, as it is, between the loop's turns: ends of epochs,
    which are in no step.
    """
    in_turns: bool = False
    """Whether the program as it is was timed in blocks, between those of other arms,
    within one process.
    """
    whole_turns: bool = False
    """Whether these steps are a turn of the loop, and what lies between two turns is a
    part of their time: ends of epochs.
    """


class Arm(msgspec.Struct, frozen=True):
    """One candidate."""

    name: str
    rule_id: str
    """Of the finding that asks for it, "" for none."""
    category: str
    """Of that finding, "" for none."""
    change: str
    """The codemod's name, or patch, env, `pass NAME`."""
    identity: str
    """Changes that are alike have the same, whatever they are called."""
    outcome: str
    """better, not better, cannot tell or broken."""
    why: str
    """Why it is broken, "" for any other."""
    ratio: StepRatio | None
    """None where fewer than two runs gave a step time."""
    p: float | None
    """Probability of such a gain between forms that are alike."""
    predicted: Share | None
    """What its finding promised."""
    check: str
    """same, differs or not checked: the values of the first steps beside those of the
    program as it is.
    """
    effect: str
    """What else changes, in words; "" for nothing that is known."""
    step_ms: tuple[float, ...]
    """Of each run."""
    smallest_change: float | None
    """The gain that so many runs would have shown four times in five, as a share of
    step time.
    """
    kind: str = CHANGE
    """change; of an ablation: part (what the program does, taken out), switch (a
    setting) or scale (less to do).
    """
    took: int = 0
    """How often its hook took effect in one run, 0 where there is no hook."""
    places: tuple[str, ...] = ()
    """Lines of the program where it did, as `train.py:41`; none where a framework's own
    code was hooked.
    """
    in_turns: bool = False
    """Whether it took turns with others within one process: each step time is of a
    block of steps.
    """
    less: tuple[str, ...] = ()
    """Of a change that is better: what its steps do at most half as often, as
    `evaluate (train.py): 0.01 times a step instead of 0.05`.
    """

    @property
    def saving(self) -> Share | None:
        """Of step time, with 95% confidence."""
        if self.ratio is None:
            return None
        return Share(1 - self.ratio.high, 1 - self.ratio.low)


class Delayed(msgspec.Struct, frozen=True):
    """A statement of the loop that was made to take longer, which changes no result:
    how much longer a round took for it.
    """

    place: str
    """`train.py:41`."""
    delay_ms: float
    """Of each round."""
    factor: float
    """1: all of it, so that the statement is on the critical path; 0: none of it."""
    low: float
    """With 95% confidence."""
    high: float


class TrialResult(msgspec.Struct, frozen=True):
    """outcome: winner, none better or cannot tell."""

    outcome: str
    summary: str
    command: tuple[str, ...]
    versions: Mapping[str, str]
    """Of Python and of what the program imports."""
    device: str
    """The kind of the first device, "" where it is not known."""
    steps: TriedSteps
    base_step_ms: tuple[float, ...]
    """Of each run of the program as it is."""
    arms: tuple[Arm, ...]
    complete: bool
    """Whether neither the budget nor the user ended it early."""
    seconds: float
    """By the wall clock."""
    profile: str = ""
    """Of an ablation: what each part costs, in words."""
    delays: tuple[Delayed, ...] = ()
    tool: Tool = Tool("tfadvisor", VERSION)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first."""
        whole: dict[str, Any] = plain(self)
        return {"schema_version": SCHEMA_VERSION, "tool": whole.pop("tool"), **whole}
