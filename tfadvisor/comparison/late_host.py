"""A host for which the others wait: its own work is the cause, not the collective in which they wait."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.comparison.result import Cause, ClassChange
from tfadvisor.comparison.side import Side

_LEADS = 0.15
"""From this share of the step on, as in the verdict, waiting for one host is what the step is bound by."""
_OF_ITS_OWN = ("input", "host", "launch", "compile", "transfer", "compute")
"""Classes of which a late host may have more than the others."""


def with_late_host(
    base: Side, new: Side, classes: Sequence[ClassChange], causes: tuple[Cause, ...]
) -> tuple[Cause, ...]:
    """The causes, those of the new side's late host first: what grew on it, then the waiting for it apart from its
    collective. They still add up to the change. Without a late host, or with one on both sides, as they were.
    """
    waiting = _waiting_ms(new)
    if waiting < _LEADS * new.mean_ms or _waiting_ms(base) >= _LEADS * base.mean_ms:
        return causes
    grown = max((one for one in classes if one.name in _OF_ITS_OWN), key=lambda one: one.change_ms)
    if grown.change_ms <= 0:
        return causes
    more = waiting - _waiting_ms(base)
    waited = Cause(grown.name, "late host", "late host", more, more, _waiting_ms(base), waiting, None)
    own = [cause for cause in causes if cause.class_name == grown.name and cause.change_ms > 0]
    rest = [cause for cause in causes if cause not in own]
    exchange = sum(cause.change_ms for cause in rest if cause.class_name == "collective")
    others = [cause for cause in rest if cause.class_name != "collective"]
    together = Cause(
        "collective", "other ops", "collectives, the waiting apart", exchange - more, 0.0, None, None, None
    )
    return (waited, *own, *others, together)


def _waiting_ms(side: Side) -> float:
    """What devices wait in collectives, ms a step, where they wait for one and the same host; 0 where they do not."""
    if not side.metrics.get("late_host_fraction"):
        return 0.0
    return side.metrics.get("collective_wait_fraction", 0.0) * side.mean_ms
