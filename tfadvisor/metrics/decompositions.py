"""Singular values, eigenvalues, factors and inverses of matrices in a step, and what
they are for.
"""

from __future__ import annotations

from tfadvisor.metrics.kinds import known_where
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, once
from tfadvisor.patterns import pattern
from tfadvisor.timeline.summary import HotOp

_DECOMPOSES = pattern(
    r"/(?:svd|eigh?|schur|lu|geqrf|householder_product)(?=/|\Z)|"
    r"jit\(_pinv\)+/|jit\(inv\)+/(?:\w+\()*jit\(solve\)"
)
"""Parts of JAX's paths. What solves with given factors is no decomposition."""
_SOLVES = pattern(
    r"/(?:cholesky|cholesky_update|lu_pivots_to_permutation|triangular_solve|"
    r"tridiagonal_solve|tridiagonal|hessenberg)(?=/|\Z)|"
    r"jit\((?:_?cho(?:lesky|_solve|_factor)|inv|_?pinv|s?log?det|_?det|_?solve|_?lstsq|"
    r"_?lu_solve|_?solve_triangular|eigv?a?l?s?h?|svd|qr)\)+/"
)
"""Besides, what solves with factors, and functions that do nothing but both."""
_KINDS = (
    ("pseudo-inverse", r"jit\(_pinv\)+/"),
    ("inverse", r"jit\(inv\)+/"),
    ("least squares", r"jit\(_lstsq\)+/"),
    ("norm", r"jit\((?:norm|cond|matrix_rank)\)+/"),
    ("singular values", r"/svd(?=/|\Z)"),
    ("eigenvalues", r"/(?:eigh?|schur)(?=/|\Z)"),
    ("LU factors", r"/lu(?=/|\Z)"),
)
"""By the path, what an op is for: of several the first."""
_OTHER = "QR factors"
_FEW = 0.1
"""Of the time of all these ops, for a sentence about the others."""


def factorises(path: str) -> bool:
    """Whether an op, by its path in JAX's HLO, factorises a matrix or solves with
    factors.
    """
    return bool(_DECOMPOSES.search(path) or _SOLVES.search(path))


@once
def decompositions(question: Question) -> list[HotOp]:
    """The largest first. Raises MetricAbsent without HLO."""
    return known_where(question, lambda known: bool(_DECOMPOSES.search(known.op_name)))


def _largest(question: Question) -> HotOp:
    found = decompositions(question)
    if not found:
        raise MetricAbsent("no op decomposes or inverts a matrix")
    return found[0]


@fact
def decomposition_kind(question: Question) -> str:
    """What the ops of decomposition_fraction that take most are for, by their paths in
    JAX's HLO: pseudo-inverse, inverse, least squares, norm, singular values,
    eigenvalues, LU factors or QR factors.
    """
    known = _largest(question).known
    path = known.op_name if known is not None else ""
    return next((kind for kind, of in _KINDS if pattern(of).search(path)), _OTHER)


@fact
def decomposition_does(question: Question) -> str:
    """The largest of these ops, in words: `gesvdj of f32[2048,32,32]`."""
    known = _largest(question).known
    if known is None or not known.does:
        raise MetricAbsent("the trace holds no HLO of this op")
    return known.does


@fact
def inverse_use(question: Question) -> str:
    """`products` where the HLO shows that the program uses the inverses, which nearly
    all of these ops make, in nothing but products with them; else `unknown`.
    """
    _largest(question)
    found = decompositions(question)
    others = [op for op in found if op.known is None or not op.known.only_multiplied]
    rest = sum(op.total_ps for op in others) / sum(op.total_ps for op in found)
    return "products" if rest < _FEW else "unknown"
