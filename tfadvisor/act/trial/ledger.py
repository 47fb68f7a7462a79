"""What a trial leaves in the ledger."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timezone

from tfadvisor.act.trial.result import BROKEN, TrialResult
from tfadvisor.comparison.ledger import FORM, Entry
from tfadvisor.version import VERSION


def entries_of(result: TrialResult, sketch: Sequence[int]) -> list[Entry]:
    """One for each candidate that ran."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    trial = secrets.token_hex(6)
    return [
        Entry(
            form=FORM,
            at=now,
            tool=VERSION,
            trial=trial,
            program=tuple(sketch),
            rule=one.rule_id,
            category=one.category,
            change=one.change,
            identity=one.identity,
            versions=result.versions,
            device=result.device,
            predicted=(one.predicted.low, one.predicted.high) if one.predicted else None,
            ratio=one.ratio.estimate if one.ratio else None,
            interval=(one.ratio.low, one.ratio.high) if one.ratio else None,
            runs=(len(result.base_step_ms), len(one.step_ms)),
            outcome=one.outcome,
            check=one.check,
        )
        for one in result.arms
        if one.ratio is not None or one.outcome == BROKEN
    ]
