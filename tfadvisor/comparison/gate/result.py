"""What the gate says: one outcome a check, one for the whole, and why."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from tfadvisor.advice.findings import Fix
from tfadvisor.comparison.change import Comparison
from tfadvisor.printable import plain
from tfadvisor.version import VERSION

SCHEMA_VERSION = "1"


class Outcome(Enum):
    """Of a check. CANNOT_TELL: the data do not decide. IGNORED: it fails, and an entry
    of the configuration says so.
    """

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    CANNOT_TELL = "cannot tell"
    NOT_APPLICABLE = "not applicable"
    IGNORED = "ignored"
    BROKEN = "broken"


class Check(msgspec.Struct, frozen=True):
    """One question and its answer."""

    kind: str
    """budget, relative or rule."""
    name: str
    """The metric, or the rule's id."""
    level: str
    """error, or warn for a check that never fails the gate."""
    outcome: Outcome
    message: str
    """The answer in a sentence."""
    unit: str = ""
    """The metric's unit; empty for a rule."""
    worse: str = "up"
    """Which way is worse: up, down or both."""
    value: float | None = None
    """What was measured, in the metric's unit. The middle one of several runs."""
    base: float | None = None
    """The middle of the baseline, in the metric's unit; None without one."""
    limit: float | None = None
    """The value beyond which the check fails, in the metric's unit."""
    detectable: float | None = None
    """The smallest change from the base that could have been seen, in the metric's
    unit.
    """
    detectable_outside: float | None = None
    """The same for changes outside the ops whose work did not change, where those are
    known.
    """
    p: float | None = None
    """How probable such a run of an unchanged program is."""
    runs: int = 0
    """Runs in the baseline."""
    file: str = ""
    """Source file of the user's program that a finding points at; empty when unknown.
    """
    file_line: int | None = None
    """Line in that file; None when unknown."""
    line: int = 0
    """Line of the gate's configuration that asks for the check; 0 for a preset's."""
    fixes: tuple[Fix, ...] = ()
    """A finding's edits."""
    news: str = ""
    """Of a finding against the baseline: known, new, on_the_edge (of its threshold),
    unknown without a baseline; "" for other checks."""
    improved: bool = False
    """Whether the metric moved for the better by more than its limit and more than
    noise explains.
    """


class Gated(msgspec.Struct, frozen=True):
    """What was judged: run, model, and the words of its key."""

    model: str
    name: str
    path: str
    framework: str
    devices: str
    hosts: int
    candidates: int
    against: str = ""
    """What the base is called where it was recorded in turns with this; empty where a
    store is the baseline.
    """


class GateResult(msgspec.Struct, frozen=True):
    """The gate's answer. runs: of the baseline. differences: reported, but they forbid
    nothing.
    """

    outcome: Outcome
    exit_code: int
    gated: Gated
    config: str
    false_alarm_rate: float
    runs: int
    checks: tuple[Check, ...]
    notices: tuple[str, ...]
    differences: tuple[str, ...]
    comparison: Comparison | None

    def of(self, outcome: Outcome) -> tuple[Check, ...]:
        """The checks with this outcome."""
        return tuple(check for check in self.checks if check.outcome is outcome)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first. Numbers are finite."""
        whole: dict[str, Any] = plain(self)
        whole["comparison"] = self.comparison.to_dict() if self.comparison else None
        return {
            "schema_version": SCHEMA_VERSION,
            "tool": {"name": "tfadvisor", "version": VERSION},
            **whole,
        }
