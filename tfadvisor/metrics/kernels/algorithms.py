"""Ops whose algorithm often does more than what is wanted of it: decompositions of matrices, sorts of whole arrays."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import first_device_ops
from tfadvisor.metrics.kernels.kinds import name_of, of_step_time, place_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.names.host import op_type
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps
from tfadvisor.units import Unit

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


@once
def _hottest(question: Question) -> HotOps:
    """Of the first device. Raises MetricAbsent where nothing tells what the ops do."""
    found = first_device_ops(question)
    if not any(one.known is not None or op_type(one.name()) for one in found.ops):
        raise MetricAbsent("neither HLO nor TensorFlow's op types tell what the kernels do")
    return found


def _decompositions(question: Question) -> list[HotOp]:
    return [one for one in _hottest(question).ops if _decomposes(one)]


def _decomposes(one: HotOp) -> bool:
    path = one.known.op_name if one.known is not None else ""
    return op_type(one.name()) in _DECOMPOSITION_OPS or path.rpartition("/")[2] in _DECOMPOSITIONS


def _sorts(question: Question) -> list[HotOp]:
    return [
        one
        for one in _hottest(question).ops
        if one.known is not None and one.known.effect in _SORTS and _PARTIAL_SORT not in one.known.op_name
    ]


@metric(
    "decomposition_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in decompositions and inverses of matrices: SVD, eigenvalues, QR, Cholesky, LU, by TensorFlow's op "
    "types and JAX's paths.",
)
def decomposition_fraction(question: Question) -> float:
    """Of the first device."""
    return of_step_time(question, _decompositions(question), _hottest(question))


@fact("decomposition_op", about="The decomposition that takes most time.")
def decomposition_op(question: Question) -> str:
    """`Svd_2:Svd`."""
    return name_of(_decompositions(question))


@metric(
    "sort_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in sorts of whole arrays, by the trace's HLO; the largest k of many are not counted.",
)
def sort_fraction(question: Question) -> float:
    """Of the first device."""
    return of_step_time(question, _sorts(question), _hottest(question))


@fact("sort_op", about="The sort that takes most time.")
def sort_op(question: Question) -> str:
    """`sort.3`."""
    return name_of(_sorts(question))


@fact("sort_place", about="sort_op with its place in the user's program.")
def sort_place(question: Question) -> str:
    """`sort.3 (model.py:42)`."""
    return place_of(_sorts(question))
