"""Gradients that a step computes one by one, or with everything recomputed, known by the paths of JAX's ops."""

from __future__ import annotations

import re

from tfadvisor.metrics.kernels.first_device import known_ops, known_where
from tfadvisor.metrics.kernels.kinds import of_step_time, place_of
from tfadvisor.metrics.registry import Question, fact, metric
from tfadvisor.timeline.names.op_path import op_path
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_OF_EACH = "/vmap(transpose("
"""jax.vmap(jax.grad(…)): the map is around the gradient."""
_FORWARD_OF_EACH = "/vmap(jvp("
_OF_BATCH = re.compile(r"/transpose\(jvp\((?!vmap\()")
"""jax.grad of a loss of the whole batch."""
_SECOND = re.compile(r"vmap\(vmap\(jvp\(|vmap\(jvp\(vmap\(")
"""jax.hessian and jacobians of gradients: a map over directions around a derivative of a derivative."""
_RECOMPUTED = re.compile(r"transpose\(.*/(?:checkpoint|remat|rematted_computation)/")


def _of_each(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: _OF_EACH in known.op_name)


def _second(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: bool(_SECOND.search(known.op_name)))


def _recomputed(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: bool(_RECOMPUTED.search(known.op_name)))


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def gradient_of_each_fraction(question: Question) -> float:
    """Share of step time in gradients of each example, or of each member of an ensemble, alone: `jax.vmap(jax.grad(…))`,
    without what is then done with them.
    """
    return of_step_time(question, _of_each(question), known_ops(question))


@fact
def gradient_of_each_place(question: Question) -> str:
    """The costliest of these, with its place in the user's program: `transpose_copy_fusion.7 (train.py:15)`."""
    return place_of(_of_each(question))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def gradient_of_each_again_fraction(question: Question) -> float:
    """Share of step time in passes for each example alone, forward and backward, through layers of which the same step also
    computes the gradient of the whole batch.
    """
    ops = known_ops(question)
    twice = {_layer(one) for one in known_where(question, lambda known: bool(_OF_BATCH.search(known.op_name)))} & {
        _layer(one) for one in _of_each(question)
    }
    passes = known_where(question, lambda known: _OF_EACH in known.op_name or _FORWARD_OF_EACH in known.op_name)
    return of_step_time(question, [one for one in passes if _layer(one) in twice - {""}], ops)


def _layer(one: HotOp) -> str:
    path = op_path(one.known.op_name) if one.known is not None else None
    return path.layer if path is not None else ""


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def second_derivative_fraction(question: Question) -> float:
    """Share of step time in second derivatives along all directions: `jax.hessian`, or a Jacobian of a gradient."""
    return of_step_time(question, _second(question), known_ops(question))


@fact
def second_derivative_place(question: Question) -> str:
    """The costliest of these, with its place in the user's program: `dot.15 (train.py:15)`."""
    return place_of(_second(question))


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def recomputed_gradient_fraction(question: Question) -> float:
    """Share of step time in gradients under `jax.checkpoint`, which compute what is under it once more."""
    return of_step_time(question, _recomputed(question), known_ops(question))


@fact
def recomputed_gradient_place(question: Question) -> str:
    """The costliest of these, with its place in the user's program: `dot_general.183 (train.py:21)`."""
    return place_of(_recomputed(question))
