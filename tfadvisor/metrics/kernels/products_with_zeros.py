"""Products that multiply zeros: with one-hot rows, which pick rows of a matrix the long way round, and with a large square matrix
that the step only reads, as of a graph's adjacency.
"""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import first_device_ops, known_ops, known_where
from tfadvisor.metrics.kernels.kinds import name_of, of_step_time, place_of
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.names.host import op_type
from tfadvisor.timeline.op_in_program import OpTrait
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_FROM_SPARSE = frozenset(("SparseToDense", "SparseTensorToDense"))
_MAKES_ONE_HOT = _FROM_SPARSE | {"OneHot"}
"""What makes rows that are mostly zeros."""
_LARGE = 0.03
"""Of the compute time: rows outside of any layer that take less to make are labels, and no product's."""
_PRODUCT = "MatMul"
_FUNCTIONS = ("matmul", "tensordot", "einsum")
"""How TensorFlow's functions name a product, and its gradients, that stands in no layer: `MatMul/MatMul_1`."""
_SURROUNDINGS = ("StatefulPartitionedCall/", "gradient_tape/")


@once
def _one_hot(question: Question) -> tuple[list[HotOp], HotOps]:
    """Of the hottest ops of the first device those that make one-hot rows or multiply them, and all of these."""
    found = first_device_ops(question)
    makers = _makers(found)
    scopes = tuple(f"{scope}/" for one in makers if (scope := _path(one).rpartition("/")[0]))
    outside = _outside_layers(found, [one for one in makers if "/" not in _path(one)])
    chosen = [
        one
        for one in found.ops
        if one in makers or one in outside or _multiplies_in(one, scopes) or _multiplies_by_hlo(one)
    ]
    return chosen, found


def _makers(found: HotOps) -> list[HotOp]:
    return [one for one in found.ops if op_type(one.name()) in _MAKES_ONE_HOT]


def _outside_layers(found: HotOps, makers: list[HotOp]) -> list[HotOp]:
    """The largest product outside of layers, with its gradients, where large rows are made there too: it multiplies them."""
    if sum(one.total_ps for one in makers) < _LARGE * found.compute_ps or not makers:
        return []
    products: dict[str, list[HotOp]] = {}
    for one in found.ops:
        name = _path(one).partition("/")[0]
        if _PRODUCT in (op_type(one.name()) or "") and name.lower().startswith(_FUNCTIONS):
            products.setdefault(name, []).append(one)
    return max(products.values(), key=lambda ops: sum(one.total_ps for one in ops), default=[])


def _path(one: HotOp) -> str:
    """`StatefulPartitionedCall/gradient_tape/bag/one_hot:OneHot` -> `bag/one_hot`."""
    path = one.name().rpartition(":")[0]
    for surroundings in _SURROUNDINGS:
        path = path.removeprefix(surroundings)
    return path


def _multiplies_in(one: HotOp, scopes: tuple[str, ...]) -> bool:
    return _PRODUCT in (op_type(one.name()) or "") and bool(scopes) and _path(one).startswith(scopes)


def _multiplies_by_hlo(one: HotOp) -> bool:
    return one.known is not None and OpTrait.ONE_HOT in one.known.traits


@metric(unit=Unit.FRACTION, better=Better.LESS)
def one_hot_fraction(question: Question) -> float:
    """Share of step time in which the first device multiplies by one-hot rows, or by a sparse tensor's rows made dense.
    TensorFlow's op types show the ops that make the rows and the products of the same layer, outside of layers the largest
    product; the trace's HLO shows products of a one_hot.
    """
    return of_step_time(question, *_one_hot(question))


@fact
def one_hot_op(question: Question) -> str:
    """The op that takes most of the time in one_hot_fraction: `bag/Tensordot/MatMul:MatMul`."""
    return name_of(_one_hot(question)[0])


@fact
def one_hot_source(question: Question) -> str:
    """What the rows of zeros and ones are made of: `sparse` tensors, or `numbers`."""
    makers = _makers(_one_hot(question)[1])
    return "sparse" if makers and op_type(makers[0].name()) in _FROM_SPARSE else "numbers"


def _with_fixed(question: Question) -> list[HotOp]:
    return known_where(question, lambda known: known.fixed_rows > 0)


@metric(unit=Unit.FRACTION, better=Better.LESS)
def fixed_matrix_fraction(question: Question) -> float:
    """Share of step time in products with a square matrix of 1,024 rows and more that is a constant of the program or an
    argument that no result replaces, from the trace's HLO.
    """
    return of_step_time(question, _with_fixed(question), known_ops(question))


@fact
def fixed_matrix(question: Question) -> str:
    """The dimensions of the matrix whose product takes most time: `3600 x 3600`."""
    found = _with_fixed(question)
    if not found or found[0].known is None:
        raise MetricAbsent("the step multiplies no such matrix")
    rows = found[0].known.fixed_rows
    return f"{rows} x {rows}"


@fact
def fixed_matrix_place(question: Question) -> str:
    """The product with it that takes most time, with its place in the user's program: `dot.2 (model.py:42)`."""
    return place_of(_with_fixed(question))
