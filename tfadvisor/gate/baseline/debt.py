"""The day each finding of a run came into its baseline."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tfadvisor.gate.baseline.snapshot import Snapshot


def with_days(snapshot: Snapshot, before: Sequence[Snapshot], today: str) -> Snapshot:
    """The run's findings with the day each came, ISO: as an earlier run of the baseline says, else the run's own."""
    came: dict[str, str] = {}
    for run in before:
        for one in run.side.findings:
            day = one.since or day_of(run)
            came[one.rule_id] = min(came.get(one.rule_id, day), day)
    own = day_of(snapshot) or today
    findings = tuple(replace(one, since=came.get(one.rule_id) or own) for one in snapshot.side.findings)
    return replace(snapshot, side=replace(snapshot.side, findings=findings))


def day_of(snapshot: Snapshot) -> str:
    """When it was recorded, else added; "" when neither is known."""
    return (snapshot.recorded_at or snapshot.added_at)[:10]
