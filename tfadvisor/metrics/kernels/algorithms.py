"""Ops whose algorithm often does more than what is wanted of it: decompositions of matrices, sorts of whole arrays."""

from __future__ import annotations

import re

from tfadvisor.metrics.kernels.first_device import first_device_ops
from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.names.host import op_type
from tfadvisor.timeline.names.op_path import op_path
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps

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
def hottest_of_known_types(question: Question) -> HotOps:
    """Of the first device. Raises MetricAbsent where nothing shows what the ops do."""
    found = first_device_ops(question)
    if not any(one.known is not None or op_type(one.name()) for one in found.ops):
        raise MetricAbsent("neither HLO nor TensorFlow's op types show what the kernels do")
    return found


def decompositions(question: Question) -> list[HotOp]:
    """SVD, eigenvalues, QR, Cholesky, LU, inverses. Raises MetricAbsent where nothing shows what the ops do."""
    return [one for one in hottest_of_known_types(question).ops if _decomposes(one)]


def _decomposes(one: HotOp) -> bool:
    path = one.known.op_name if one.known is not None else ""
    return op_type(one.name()) in _DECOMPOSITION_OPS or path.rpartition("/")[2] in _DECOMPOSITIONS


def sorts(question: Question) -> list[HotOp]:
    """Of whole arrays. Raises MetricAbsent where nothing shows what the ops do."""
    return [one for one in hottest_of_known_types(question).ops if _is_sort(one)]


def _is_sort(one: HotOp) -> bool:
    if one.known is None:
        kind, path = op_type(one.name()), op_path(one.name())
        whole = path is not None and _SORTING_SCOPE.search(path.layer) is not None
        return kind in _SHUFFLES or ((kind or "").startswith("TopK") and whole)
    return one.known.effect in _SORTS and _PARTIAL_SORT not in one.known.op_name


@fact
def sort_use(question: Question) -> str:
    """What the sort that takes most time is for: `shuffle` for TensorFlow's random orders, `rank` for a quantile or a median
    by its scope's name, else `order`.
    """
    found = sorts(question)
    if not found:
        raise MetricAbsent("the step sorts nothing")
    first = found[0]
    if op_type(first.name()) in _SHUFFLES:
        return "shuffle"
    return "rank" if _RANK.search(first.known.op_name if first.known is not None else first.name()) else "order"
