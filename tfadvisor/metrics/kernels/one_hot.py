"""Products with one-hot rows, which pick rows of a matrix the long way round."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import first_device_ops
from tfadvisor.metrics.kernels.kinds import name_of, of_step_time
from tfadvisor.metrics.registry import Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.names.host import op_type
from tfadvisor.timeline.summary.hot_ops import HotOp, HotOps
from tfadvisor.timeline.summary.op_in_program import OpTrait
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_MAKES_ONE_HOT = "OneHot"
_PRODUCT = "MatMul"
_SURROUNDINGS = ("StatefulPartitionedCall/", "gradient_tape/")


@once
def _one_hot(question: Question) -> tuple[list[HotOp], HotOps]:
    """Of the hottest ops of the first device those that make one-hot rows or multiply them, and all of these."""
    found = first_device_ops(question)
    makers = [one for one in found.ops if op_type(one.name()) == _MAKES_ONE_HOT]
    scopes = tuple(f"{scope}/" for one in makers if (scope := _path(one).rpartition("/")[0]))
    chosen = [one for one in found.ops if one in makers or _multiplies_in(one, scopes) or _multiplies_by_hlo(one)]
    return chosen, found


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
    """Share of step time in which the first device multiplies by one-hot rows. TensorFlow's op types show the ops that
    make the rows and the products of the same layer; the trace's HLO shows products of a one_hot.
    """
    return of_step_time(question, *_one_hot(question))


@fact
def one_hot_op(question: Question) -> str:
    """The op that takes most of the time in one_hot_fraction: `bag/Tensordot/MatMul:MatMul`."""
    return name_of(_one_hot(question)[0])
