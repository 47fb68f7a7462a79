"""What the gate says: one outcome a check, one for the whole, and why."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from tfadvisor.comparison.result import Comparison
from tfadvisor.report.model import Fix
from tfadvisor.report.plain import plain
from tfadvisor.version import VERSION

SCHEMA_VERSION = "1"


class Outcome(Enum):
    """Of a check. CANNOT_TELL: the data do not decide. IGNORED: it fails, and an entry of the configuration says so."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    CANNOT_TELL = "cannot tell"
    NOT_APPLICABLE = "not applicable"
    IGNORED = "ignored"
    BROKEN = "broken"


class Check(msgspec.Struct, frozen=True):
    """One question and its answer.

    kind: budget, relative or rule. name: the metric or rule. message: the answer in a sentence. value, base: in the
    metric's unit; base: the middle of the baseline. limit: the value beyond which the check fails. expected: between which
    values an unchanged program's run lies, at the level asked for. detectable: the smallest change from the base that
    could have been seen, in the metric's unit; detectable_outside: of changes outside of the ops whose work did not change,
    where those are told apart. p: how probable such a run of an unchanged program is. place: `file:line`
    of the user's program, or None. line: of the configuration, 0 for a preset's. fixes: a finding's edits.
    """

    kind: str
    name: str
    level: str
    outcome: Outcome
    message: str
    unit: str = ""
    worse: str = "up"
    value: float | None = None
    base: float | None = None
    limit: float | None = None
    expected: tuple[float, float] | None = None
    detectable: float | None = None
    detectable_outside: float | None = None
    p: float | None = None
    runs: int = 0
    file: str = ""
    file_line: int | None = None
    line: int = 0
    fixes: tuple[Fix, ...] = ()

    @property
    def id(self) -> str:
        """Unique among the checks of a gate."""
        return f"{self.kind}/{self.name}"


class Gated(msgspec.Struct, frozen=True):
    """What was judged: run, model, and the words of its key."""

    model: str
    name: str
    path: str
    framework: str
    devices: str
    hosts: int
    candidates: int


class GateResult(msgspec.Struct, frozen=True):
    """The gate's answer. runs: of the baseline. differences: that are told but forbid nothing."""

    outcome: Outcome
    exit_code: int
    gated: Gated
    config: str
    false_alarm_rate: float
    runs: int
    checks: tuple[Check, ...]
    notices: tuple[str, ...]
    differences: tuple[str, ...]
    tighten: tuple[str, ...]
    comparison: Comparison | None

    def of(self, *outcomes: Outcome) -> tuple[Check, ...]:
        """The checks with one of these outcomes."""
        return tuple(check for check in self.checks if check.outcome in outcomes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first. Numbers are finite."""
        whole: dict[str, Any] = plain(self)
        whole["comparison"] = self.comparison.to_dict() if self.comparison else None
        return {"schema_version": SCHEMA_VERSION, "tool": {"name": "tfadvisor", "version": VERSION}, **whole}
