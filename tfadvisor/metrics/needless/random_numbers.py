"""Random numbers that a compiled step draws."""

from __future__ import annotations

import re

from tfadvisor.metrics.kernels.first_device import known_ops, known_where
from tfadvisor.metrics.kernels.kinds import of_step_time, place_of
from tfadvisor.metrics.registry import Question, fact, metric
from tfadvisor.timeline.op_in_program import InProgram
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_DRAWS = re.compile(
    r"threefry2x32|random_bits|random_gamma|rng_bit_generator|rng_uniform|"
    r"jit\(_(?:normal|uniform|bernoulli|gumbel|laplace|exponential|truncated_normal|randint|gamma|poisson|categorical)\b"
)
"""Parts of JAX's paths."""
_OF_LAYER = re.compile(
    r"jit\(_bernoulli\)|[(/](?:\w*_)?(?:dropout|gaussian_noise|stochastic_depth|droppath|drop_path)(?:_\d+)?[)/]",
    re.IGNORECASE,
)
"""Masks and noise that a model's layers draw for training."""


def _draws(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: bool(_DRAWS.search(known.op_name)) and not _is_of_layer(known))


def _of_layers(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: bool(_DRAWS.search(known.op_name)) and _is_of_layer(known))


def _is_of_layer(known: InProgram) -> bool:
    return bool(_OF_LAYER.search(known.op_name))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def dropout_draw_fraction(question: Question) -> float:
    """Share of step time in which the first device draws the masks of dropout and the noise of noise layers, from the paths of
    JAX's ops.
    """
    return of_step_time(question, _of_layers(question), known_ops(question))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def random_number_fraction(question: Question) -> float:
    """Share of step time in which the first device draws random numbers for anything but layers of dropout and noise, from the
    paths of JAX's ops.
    """
    return of_step_time(question, _draws(question), known_ops(question))


@fact
def random_number_place(question: Question) -> str:
    """The costliest draw of random numbers, with its place in the user's program: `call.8 (train.py:31)`."""
    return place_of(_draws(question))
