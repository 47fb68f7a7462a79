"""The gate's configuration, checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from fnmatch import fnmatchcase

import msgspec

from tfadvisor.vocabulary import Severity

LEVELS = ("off", "warn", "error")
POLICIES = ("pass", "warn", "fail")
PRESETS = ("none", "recommended")
"""What the gate checks without a configuration: nothing, or what `recommended.toml`
says.
"""
DEFAULT_KEEP = 30


class Budget(msgspec.Struct, frozen=True):
    """An absolute limit on a metric, in its unit. line: where it is written, 0 for a
    preset's.
    """

    metric: str
    at_most: float | None
    at_least: float | None
    level: str
    line: int


class Relative(msgspec.Struct, frozen=True):
    """A limit on the change of a metric against its baseline.

    limit: as a share of the baseline; change: in the metric's unit; of both the smaller
    counts. worse: up, down, both, or None for what is usual for the metric.
    """

    metric: str
    limit: float | None
    change: float | None
    worse: str | None
    level: str
    line: int


class RuleLevel(msgspec.Struct, frozen=True):
    """The level of rules whose id matches a pattern."""

    pattern: str
    level: str
    line: int


class Ignore(msgspec.Struct, frozen=True):
    """A check that is known to fail: by metric or rule id (a pattern), with the reason,
    until a date.
    """

    check: str
    reason: str
    expires: date
    line: int


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the gate. rules: the last pattern that fits decides, before
    severity.
    """

    file: str
    model: str | None = None
    """Whose baseline; None where the configuration does not say."""
    baseline: str | None = None
    """The store's folder."""
    labels: Mapping[str, str] = {}
    keep: int = DEFAULT_KEEP
    false_alarm_rate: float = 0.01
    on_cannot_tell: str = "pass"
    """Where the data do not decide: fail exits with 4, pass and warn with 0."""
    on_not_comparable: str = "fail"
    """The same where a baseline is there that the run must not be compared with."""
    new_findings: str = "high"
    """From which severity on a finding that the baseline has not fails: a severity, or
    off.
    """
    budgets: tuple[Budget, ...] = ()
    relative: tuple[Relative, ...] = ()
    severity: Mapping[str, str] = {}
    rules: tuple[RuleLevel, ...] = ()
    ignores: tuple[Ignore, ...] = ()

    def fails_when_new(self, rule_id: str, severity: Severity) -> bool:
        """Whether a finding fails that the baseline has not; what the configuration
        says of the rule itself wins.
        """
        if self.new_findings == "off" or self._fitting(rule_id):
            return False
        return severity.rank >= Severity(self.new_findings).rank

    def rule_level(self, rule_id: str, severity: str) -> tuple[str, int]:
        """The level at which a finding counts, and the line that says so."""
        fitting = self._fitting(rule_id)
        if fitting:
            return fitting[-1].level, fitting[-1].line
        return self.severity.get(severity, "off"), 0

    def _fitting(self, rule_id: str) -> list[RuleLevel]:
        return [rule for rule in self.rules if fnmatchcase(rule_id, rule.pattern)]

    def entry_about(self, check: str) -> Ignore | None:
        """The entry that ignores a check longest; it may have expired."""
        about = [entry for entry in self.ignores if fnmatchcase(check, entry.check)]
        return max(about, key=lambda entry: entry.expires, default=None)
