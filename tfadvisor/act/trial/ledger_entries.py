"""What a trial leaves in the ledger."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timezone

from tfadvisor.act.trial.trial_result import BROKEN, Arm, TrialResult
from tfadvisor.comparison.ledger import FORM, Entry
from tfadvisor.version import VERSION


def entries_of(
    result: TrialResult,
    sketch: Sequence[int],
) -> list[Entry]:
    """One for each candidate that ran."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    trial = secrets.token_hex(6)
    entries = []
    for arm in result.arms:
        if arm.ratio is not None or arm.outcome == BROKEN:
            entries.append(_entry(arm, result, tuple(sketch), now, trial))
    return entries


def _entry(
    arm: Arm,
    result: TrialResult,
    sketch: tuple[int, ...],
    now: str,
    trial: str,
) -> Entry:
    predicted, ratio = arm.predicted, arm.ratio
    return Entry(
        form=FORM,
        at=now,
        tool=VERSION,
        trial=trial,
        program=sketch,
        rule=arm.rule_id,
        category=arm.category,
        change=arm.change,
        identity=arm.identity,
        versions=result.versions,
        device=result.device,
        predicted=None if predicted is None else (predicted.low, predicted.high),
        ratio=None if ratio is None else ratio.estimate,
        interval=None if ratio is None else (ratio.low, ratio.high),
        runs=(len(result.base_step_ms), len(arm.step_ms)),
        outcome=arm.outcome,
        check=arm.check,
    )
