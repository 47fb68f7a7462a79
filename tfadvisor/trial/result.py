"""What a trial found: one frozen record, for the terminal, for JSON and for the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tfadvisor.ledger.entries import OUTCOMES
from tfadvisor.report.model import Tool
from tfadvisor.report.plain import plain
from tfadvisor.version import VERSION

SCHEMA_VERSION = "1"
BETTER, NOT_BETTER, OPEN, BROKEN = OUTCOMES
SAME, DIFFERS, NOT_CHECKED = "same", "differs", "not checked"


class Share(msgspec.Struct, frozen=True):
    """A range of shares of step time."""

    low: float
    """0..1; below 0 is slower."""
    high: float
    """0..1."""


class Ratio(msgspec.Struct, frozen=True):
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
    """Steps that are timed in each run."""


class Arm(msgspec.Struct, frozen=True):
    """One candidate, or several of them together."""

    name: str
    rule_id: str
    """Of the finding that asks for it, "" for none."""
    category: str
    """Of that finding, "" for none."""
    change: str
    """The codemod's name, or patch, env, `pass NAME`, several."""
    identity: str
    """Changes that are alike have the same, whatever they are called."""
    outcome: str
    """better, not better, cannot tell or broken."""
    why: str
    """Why it is broken, "" for any other."""
    ratio: Ratio | None
    """None where fewer than two runs gave a step time."""
    p: float | None
    """Probability of such a gain between forms that are alike."""
    predicted: Share | None
    """What its finding promised."""
    check: str
    """same, differs or not checked: the values of the first steps beside those of the program as it is."""
    effect: str
    """What else changes, in words; "" for nothing that is known."""
    step_ms: tuple[float, ...]
    """Of each run."""
    smallest_change: float | None
    """The gain that so many runs would have shown four times in five, as a share of step time."""

    @property
    def saving(self) -> Share | None:
        """Of step time, with 95% confidence."""
        return None if self.ratio is None else Share(1 - self.ratio.high, 1 - self.ratio.low)


class Together(msgspec.Struct, frozen=True):
    """Candidates that are better, one added to the other as long as that is better still."""

    names: tuple[str, ...]
    """In the order in which they were added."""
    ratio: Ratio
    """To the program as it is."""
    left_out: Mapping[str, str]
    """Candidates that are better alone, and why they are not among them."""


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
    together: Together | None
    """None unless several are better."""
    complete: bool
    """Whether neither the budget nor the user ended it early."""
    seconds: float
    """By the wall clock."""
    tool: Tool = Tool("tfadvisor", VERSION)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first."""
        whole: dict[str, Any] = plain(self)
        return {"schema_version": SCHEMA_VERSION, "tool": whole.pop("tool"), **whole}
