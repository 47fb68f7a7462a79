"""Random numbers that a compiled step draws."""

from __future__ import annotations

import re

from tfadvisor.metrics.kernels.first_device import known_where
from tfadvisor.metrics.registry import Question
from tfadvisor.timeline.summary.hot_ops import HotOp

_DRAWS = re.compile(
    r"threefry2x32|random_bits|random_gamma|rng_bit_generator|rng_uniform|"
    r"jit\(_(?:normal|uniform|bernoulli|gumbel|laplace|exponential|truncated_normal|randint|gamma|poisson|categorical)\b"
)
"""Parts of JAX's paths."""


def random_draws(question: Question) -> list[HotOp]:
    """Ops that draw numbers, masks of dropout too. Raises MetricAbsent without HLO."""
    return known_where(question, lambda known: bool(_DRAWS.search(known.op_name)))
