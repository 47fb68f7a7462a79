"""The findings together: in which order to mend them, what remains after each, and where to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfadvisor.report.model import Finding, Plan, PlanStep, Saving

WORTH = 0.03
"""A change that saves less of the step is not noticed: below it XProf does not warn either."""


def plan_of(findings: Sequence[Finding]) -> Plan | None:
    """findings: in their order, each with what it saves on top of those before it. None of fewer than two that save any.

    What several changes save together is known more closely than the sum of their ranges says: errors cancel in part.
    """
    saving = [(one, one.saving) for one in findings if one.saving is not None and one.saves and one.bears_verdict]
    if len(saving) < 2:
        return None
    last = max((place for place, (_, one) in enumerate(saving) if _middle(one) >= WORTH), default=0)
    changes, saved, squares = [], 0.0, 0.0
    for place, (finding, one) in enumerate(saving):
        saved += _middle(one)
        squares += (one.high - one.low) ** 2 / 4
        low, high = max(saved - math.sqrt(squares), 0.0), min(saved + math.sqrt(squares), 1.0)
        changes.append(PlanStep(finding.rule_id, one.low, one.high, 1 - high, 1 - low, worth=place <= last))
    worth = changes[last]
    return Plan(tuple(changes), 1 - worth.remains_high, 1 - worth.remains_low)


def _middle(saving: Saving) -> float:
    return (saving.low + saving.high) / 2
