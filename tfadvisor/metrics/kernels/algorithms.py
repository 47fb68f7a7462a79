"""Ops whose algorithm often does more than what is wanted of it: decompositions of matrices, sorts of whole arrays."""

from __future__ import annotations

import re

from tfadvisor.metrics.kernels.first_device import first_device_ops
from tfadvisor.metrics.kernels.kinds import name_of, of_step_time, place_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.names.host import op_type
from tfadvisor.timeline.names.op_path import op_path
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_DECOMPOSITION_OPS = frozenset(
    """
    BatchMatrixInverse Cholesky CholeskyGrad Eig LogMatrixDeterminant Lu MatrixDeterminant MatrixInverse MatrixLogarithm
    MatrixSolve MatrixSolveLs MatrixSquareRoot Qr SelfAdjointEigV2 Svd
    """.split()
)
_DECOMPOSITIONS = frozenset("cholesky eig eigh householder_product lu qr schur svd tridiagonal".split())
"""The last part of JAX's paths to these."""
_SORTS = ("sort", "top-k")
_PARTIAL_SORT = "top_k"
_SHUFFLES = frozenset(("RandomShuffle", "RandomIndexShuffle"))
"""TensorFlow's ops that bring a whole array into a random order, which XLA does by a sort."""
_RANK = re.compile(r"quantile|percentile|median")
"""In the scope of a sort that finds a value of some rank."""
_SORTING_SCOPE = re.compile(r"(?:^|/)(?:arg)?sort(?:_\d+)*(?:/|$)")
"""Of tf.sort and tf.argsort, which take the largest k of k: `sort/TopKV2`."""


@once
def _hottest(question: Question) -> HotOps:
    """Of the first device. Raises MetricAbsent where nothing shows what the ops do."""
    found = first_device_ops(question)
    if not any(one.known is not None or op_type(one.name()) for one in found.ops):
        raise MetricAbsent("neither HLO nor TensorFlow's op types show what the kernels do")
    return found


def _decompositions(question: Question) -> list[HotOp]:
    return [one for one in _hottest(question).ops if _decomposes(one)]


def _decomposes(one: HotOp) -> bool:
    path = one.known.op_name if one.known is not None else ""
    return op_type(one.name()) in _DECOMPOSITION_OPS or path.rpartition("/")[2] in _DECOMPOSITIONS


def _sorts(question: Question) -> list[HotOp]:
    return [one for one in _hottest(question).ops if _is_sort(one)]


def _is_sort(one: HotOp) -> bool:
    if one.known is None:
        kind, path = op_type(one.name()), op_path(one.name())
        whole = path is not None and _SORTING_SCOPE.search(path.layer) is not None
        return kind in _SHUFFLES or ((kind or "").startswith("TopK") and whole)
    return one.known.effect in _SORTS and _PARTIAL_SORT not in one.known.op_name


@metric(unit=Unit.FRACTION, better=Better.LESS)
def decomposition_fraction(question: Question) -> float:
    """Share of step time in which the first device decomposes or inverts matrices: SVD, eigenvalues, QR, Cholesky, LU,
    known by TensorFlow's op types and JAX's paths.
    """
    return of_step_time(question, _decompositions(question), _hottest(question))


@fact
def decomposition_op(question: Question) -> str:
    """The matrix decomposition that takes most time: `Svd_2:Svd`."""
    return name_of(_decompositions(question))


@metric(unit=Unit.FRACTION, better=Better.LESS)
def sort_fraction(question: Question) -> float:
    """Share of step time in which the first device sorts or shuffles whole arrays, from the trace's HLO or TensorFlow's op
    types. Picking the largest k of many does not count.
    """
    return of_step_time(question, _sorts(question), _hottest(question))


@fact
def sort_op(question: Question) -> str:
    """The sort that takes most time: `sort.3`."""
    return name_of(_sorts(question))


@fact
def sort_use(question: Question) -> str:
    """What the sort that takes most time is for: `shuffle` for TensorFlow's random orders, `rank` for a quantile or a median
    by its scope's name, else `order`.
    """
    found = _sorts(question)
    if not found:
        raise MetricAbsent("the step sorts nothing")
    first = found[0]
    if op_type(first.name()) in _SHUFFLES:
        return "shuffle"
    return "rank" if _RANK.search(first.known.op_name if first.known is not None else first.name()) else "order"


@fact
def sort_place(question: Question) -> str:
    """The sort that takes most time, with its place in the user's program: `sort.3 (model.py:42)`."""
    return place_of(_sorts(question))
