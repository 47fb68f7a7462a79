"""A rule that fired: what it is seen to take and how sure that is, before it is
ranked.
"""

from __future__ import annotations

import msgspec

from tfadvisor.advice.findings import Fix, Saving
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.metrics import Metrics

NO_SAVING = Saving(0.0, 0.0, "")


class Judged(msgspec.Struct, frozen=True):
    """One rule that fired."""

    rule: Rule
    takes: float | None
    """The share of step time that its sentence names, None where the trace does not
    give one.
    """
    own: Saving
    """What could go of it, by the rule alone: its size. 0 to 0 where it saves nothing
    by itself.
    """
    claims: tuple[str, ...]
    """Classes of time."""
    is_sure: bool
    """Whether nothing speaks against its size."""
    caveat: str
    """What does, or what else to keep in mind; "" for nothing."""
    fixes: tuple[Fix, ...]
    left_out: str
    """What is said of fixes that this version does not take."""
    is_capped: bool = False
    """Whether its severity is bounded in this run: by the rule, else to low."""
    is_of_one_step: bool = False
    """Whether it stands on less than half of a single step, and others may differ: its
    severity is low then.
    """
    correction: float = 1.0
    """So much of what the trace shows of it is there while nothing records; `takes` and
    `own` have it already.
    """


# What recording adds to a step.

TRACER = 0.1
"""From this share of the step on, the time that recording takes is taken off."""
_MOST_RECORDED = 0.7
"""What is recorded of a thread's time is its own at least for the rest."""


def own_part(tracer: float, driven: float) -> float:
    """What is the program's own of the part of the step that its thread drives. tracer:
    what recording takes, as driven a share of the step.
    """
    return 1 - min(tracer / driven, _MOST_RECORDED) if driven else 1.0


# What a trace of one or two steps cannot tell: whether something happens in every step.

TELLING_STEPS = 3
"""From fewer whole steps nobody can say what happens in every one."""
WEAK_CONFIDENCE = 0.5
"""Below this confidence the steps themselves are a guess."""


def is_few(metrics: Metrics) -> bool:
    """Whether fewer steps were counted."""
    steps = metrics.value("steps_counted")
    return steps is not None and steps < TELLING_STEPS


def is_guessed(metrics: Metrics) -> bool:
    """Whether the steps could hardly be distinguished."""
    confidence = metrics.value("step_confidence")
    return confidence is not None and confidence < WEAK_CONFIDENCE


_MOST = 0.5
"""Where so much of what was launched left nothing in the trace, shares of the step are
about the rest.
"""


def work_lost(metrics: Metrics) -> float:
    """The share of launches, or of runs of programs, that no device shows where it is
    most of them; else 0.
    """
    lost = max(
        metrics.value(f"lost_{of}_fraction") or 0.0 for of in ("runs", "launches")
    )
    return lost if lost >= _MOST else 0.0
