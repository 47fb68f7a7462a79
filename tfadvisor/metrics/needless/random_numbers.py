"""Random numbers that a compiled step draws."""

from __future__ import annotations

import re

from tfadvisor.metrics.kernels.first_device import known_ops, known_where
from tfadvisor.metrics.kernels.kinds import of_step_time, place_of
from tfadvisor.metrics.registry import Question, fact, metric
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.timeline.summary.op_in_program import InProgram
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_DRAWS = re.compile(
    r"threefry2x32|random_bits|random_gamma|rng_bit_generator|rng_uniform|"
    r"jit\(_(?:normal|uniform|bernoulli|gumbel|laplace|exponential|truncated_normal|randint|gamma|poisson|categorical)\b"
)
"""Parts of JAX's paths."""


def _is_draw(known: InProgram) -> bool:
    return bool(_DRAWS.search(known.op_name))


def _draws(question: Question) -> list[HotOp]:
    return known_where(question, _is_draw)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def random_number_fraction(question: Question) -> float:
    """Share of step time in which the first device draws random numbers, from the paths of JAX's ops."""
    return of_step_time(question, _draws(question), known_ops(question))


@fact
def random_number_place(question: Question) -> str:
    """The costliest draw of random numbers, with its place in the user's program: `call.8 (train.py:31)`."""
    return place_of(_draws(question))
