"""One line of the ledger: what a candidate promised and what was measured. Numbers and ids, no paths and no code."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

import msgspec

from tfadvisor.trial.result import BROKEN, TrialResult
from tfadvisor.version import VERSION

FORM = 1


class Entry(msgspec.Struct, frozen=True):
    """One candidate of one trial."""

    form: int
    """Of this record."""
    at: str
    """When it was measured, ISO time in UTC."""
    tool: str
    """tfadvisor's version."""
    trial: str
    """Candidates of one trial share it."""
    program: tuple[int, ...]
    """The report's sketch; empty where there was no report."""
    rule: str
    """The finding's rule, "" for none."""
    category: str
    """The finding's category, "" for none."""
    change: str
    """The codemod's name, or patch, env, `pass NAME`."""
    identity: str
    """Changes that are alike have the same."""
    versions: Mapping[str, str]
    device: str
    """Its kind."""
    predicted: tuple[float, float] | None
    """Saving as a share of step time, from and to."""
    ratio: float | None
    """New step time over old, None where the candidate broke."""
    interval: tuple[float, float] | None
    """Where the ratio lies with 95% confidence."""
    runs: tuple[int, int]
    """Of the program as it is, and with the candidate."""
    outcome: str
    """better, not better, cannot tell or broken."""
    check: str
    """same, differs or not checked."""

    @property
    def saving(self) -> tuple[float, float, float] | None:
        """(estimate, low, high) as shares of step time."""
        if self.ratio is None or self.interval is None:
            return None
        return 1 - self.ratio, 1 - self.interval[1], 1 - self.interval[0]


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
