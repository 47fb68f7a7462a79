"""What a trace of one or two steps cannot tell: whether something happens in every step.

Keras' `TensorBoard(profile_batch=2)`, the capture that most people have, holds one. The profiler's own start weighs on it.
"""

from __future__ import annotations

from tfadvisor.metrics.registry import Metrics

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
