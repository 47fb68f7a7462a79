"""One rule alone on made-up metrics, as its finding."""

from __future__ import annotations

from tfadvisor.advice.findings import Finding, NotApplicable
from tfadvisor.advice.judging.judge_rules import judge
from tfadvisor.advice.judging.judged import Judged
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.advice.ranking import finding_alone
from tfadvisor.metrics.registry import Metrics


def outcome_of(rule: Rule, metrics: Metrics) -> Finding | NotApplicable | None:
    """The finding where it fired."""
    outcome = judge(rule, metrics)
    return finding_alone(outcome, metrics) if isinstance(outcome, Judged) else outcome
