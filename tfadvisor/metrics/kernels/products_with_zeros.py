"""Products with one-hot rows, which only pick rows of a matrix."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import first_device_ops
from tfadvisor.metrics.registry import Question, fact
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.names.host import op_type
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps
from tfadvisor.timeline.summary.op_in_program import OpTrait

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
def one_hot_products(question: Question) -> tuple[list[HotOp], HotOps]:
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


@fact
def one_hot_source(question: Question) -> str:
    """What the rows of zeros and ones are made of: `sparse` tensors, or `numbers`."""
    makers = _makers(one_hot_products(question)[1])
    return "sparse" if makers and op_type(makers[0].name()) in _FROM_SPARSE else "numbers"
