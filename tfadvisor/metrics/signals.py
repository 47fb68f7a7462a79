"""Kinds of work, one a row: each gives the share of step time that it takes and the op
of it that takes most.

A row `gather` registers the metric `gather_fraction` and the fact `gather_op`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tfadvisor.metrics.decompositions import decompositions
from tfadvisor.metrics.kinds import (
    OpKind,
    elementwise,
    for_picked_rows,
    generic_products,
    hottest_ops,
    known_ops,
    of_kind,
    of_step_time,
    unfused_attention,
)
from tfadvisor.metrics.layers import ComputedOp, compute_fraction_of
from tfadvisor.metrics.main_work import convolutions, products
from tfadvisor.metrics.needless import (
    costly_ops,
    for_numbers,
    random_draws,
    sorts,
)
from tfadvisor.metrics.products import misaligned_products
from tfadvisor.metrics.programs import (
    carried_copies,
    copies_of_arguments,
    free_loop_place,
    in_free_loops,
    looped_scatters,
    looped_slice_copies,
    share_with_launches,
    unrolled_ops,
)
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.printable import short_kernel
from tfadvisor.timeline.summary import HotOp, HotOps


class SignalShare(NamedTuple):
    """fraction: share of step time of the ops that a row is about. first: the one that
    takes most, "" without any.
    """

    fraction: float
    first: str


Choice = Callable[[Question], SignalShare]
"""Finds them. Raises MetricAbsent where the trace cannot tell."""


class Signal(NamedTuple):
    """One row. about: as in `Share of step time in …`."""

    name: str
    about: str
    ops: Choice


def _hot(
    select: Callable[[Question], Sequence[HotOp]],
    among: Callable[[Question], HotOps] = hottest_ops,
) -> Choice:
    """Among the hottest ops of a device; those of the first GPU by default."""

    def choose(question: Question) -> SignalShare:
        ops = list(select(question))
        every = among(question)
        return SignalShare(
            of_step_time(question, ops, every),
            _named(ops[0]) if ops else "",
        )

    return choose


def _of_program(select: Callable[[Question], Sequence[HotOp]]) -> Choice:
    """Among the ops of the first device, whatever it is, of which the HLO tells
    something.
    """
    return _hot(select, known_ops)


def _with_its_whole(select: Callable[[Question], tuple[list[HotOp], HotOps]]) -> Choice:
    """As `_hot`, of a selection that says what it chose from."""
    return _hot(
        lambda question: select(question)[0],
        lambda question: select(question)[1],
    )


def _of_kind(kind: OpKind) -> Choice:
    return _with_its_whole(lambda question: of_kind(question, kind))


def _of_parts(select: Callable[[Question], Sequence[ComputedOp]]) -> Choice:
    """Among all that the devices compute, by the names that the framework gives."""

    def choose(question: Question) -> SignalShare:
        parts = select(question)
        if parts and parts[0].line:
            first = f"{parts[0].name} ({parts[0].line})"
        elif parts:
            first = parts[0].name
        else:
            first = ""
        return SignalShare(compute_fraction_of(question, parts), first)

    return choose


def _named(op: HotOp) -> str:
    """`fusion.3 (train.py:42)`, without the line where the HLO does not tell it; of an
    unrolled op the line that was.
    """
    unrolled = op.known.unrolled if op.known is not None else None
    if unrolled is not None and unrolled[0]:
        return f"{op.name()} ({unrolled[0]}:{unrolled[1]})"
    return op.place() or short_kernel(op.name())


SIGNALS = (
    # what fills a GPU's time
    Signal(
        "layout_conversion",
        "kernels that only change the layout of data: transposes, copies, nchwToNhwc "
        "and back; on a CPU: TensorFlow's transposes",
        _of_kind(OpKind.LAYOUT),
    ),
    Signal(
        "cumulative_op",
        "cumulative sums, products and maxima, by the ops' names and HLO",
        _of_kind(OpKind.CUMULATIVE),
    ),
    Signal(
        "gather",
        "gathers, which pick rows of a tensor by index",
        _of_kind(OpKind.GATHER),
    ),
    Signal(
        "elementwise",
        "elementwise kernels that XLA, MLIR and Eigen generate, without reductions; "
        "on a CPU: ops whose HLO ends in an "
        "elementwise op, or whose TensorFlow type is one",
        _with_its_whole(elementwise),
    ),
    Signal(
        "generic_product",
        "matrix products that XLA runs as plain loops (`loop_dot_fusion`, "
        "`wrapped_dot`) instead of in kernels of a library "
        "or Triton; such loops use neither Tensor Cores nor tiles",
        _hot(generic_products),
    ),
    Signal(
        "misaligned_matmul",
        "products of 16-bit matrices with a side that is not a multiple of 8, or of "
        "8-bit matrices with a side that is not a "
        "multiple of 16, from the trace's HLO; products with a side below 64 do not "
        "count",
        _hot(misaligned_products),
    ),
    Signal(
        "unfused_attention",
        "attention that is not one fused kernel: a batched product, a softmax of it, "
        "and a batched product with the result, "
        "from the trace's HLO",
        _hot(unfused_attention),
    ),
    Signal(
        "looped_slice_copy",
        "kernels that copy slices into or out of larger buffers inside while loops "
        "that also multiply matrices, as in a scan "
        "over layers; from the trace's HLO",
        _hot(looped_slice_copies),
    ),
    # what a compiled program does, on any device
    Signal(
        "argument_copy",
        "copies of whole arguments that the program returns changed and may not "
        "overwrite because they are not donated, from "
        "the trace's HLO; copies by a GPU's copy engine do not show",
        _of_program(copies_of_arguments),
    ),
    Signal(
        "picked_row",
        "ops that compute for rows of which the program keeps few, at a place that an "
        "argument or the round of a loop says, and nothing uses the others; from the "
        "trace's HLO",
        _of_program(for_picked_rows),
    ),
    Signal(
        "unrolled",
        "ops that hold a hundred copies or more of one line's operation, from the "
        "trace's HLO: a Python loop that was unrolled",
        _of_program(unrolled_ops),
    ),
    Signal(
        "scatter_loop",
        "updates of single rows inside while loops, from the trace's HLO: their "
        "kernels, and the launches between kernels in "
        "proportion to their number",
        lambda asked: _of_program(looped_scatters)(asked)._replace(
            fraction=share_with_launches(asked, looped_scatters(asked))
        ),
    ),
    Signal(
        "independent_loop",
        "while loops whose rounds do not need each other, since each hands on a "
        "counter, rows of its own and sums alone, from the trace's HLO: their kernels, "
        "and the launches between kernels in proportion to their number",
        lambda asked: SignalShare(
            share_with_launches(asked, in_free_loops(asked)), free_loop_place(asked)
        ),
    ),
    Signal(
        "carried_copy",
        "copies of a whole array in each round of a while loop that reads and writes "
        "parts of it alone, from the trace's HLO",
        _of_program(carried_copies),
    ),
    Signal(
        "random_number",
        "ops that draw random numbers, masks of dropout included, by the paths of "
        "JAX's ops",
        _of_program(random_draws),
    ),
    Signal(
        "number_only",
        "ops whose results nothing needs but single numbers that their program returns "
        "beside arrays, as a norm for the log; from the trace's HLO",
        _of_program(for_numbers),
    ),
    Signal(
        "decomposition",
        "ops that take singular values, eigenvalues, LU or QR factors or inverses of "
        "matrices, by the paths of JAX's ops",
        _of_program(decompositions),
    ),
    # by the types of TensorFlow's ops or by HLO
    Signal(
        "costly",
        "TensorFlow's ops that prepare inputs or look for faults inside the step, of "
        "the kind that takes most",
        _of_parts(costly_ops),
    ),
    Signal(
        "sort",
        "ops that sort, or take the largest few of many",
        _of_parts(sorts),
    ),
    Signal("product", "products of matrices", _of_parts(products)),
    Signal("convolution", "convolutions and their gradients", _of_parts(convolutions)),
)


def _register(signal: Signal) -> None:
    def fraction(question: Question) -> float:
        return signal.ops(question).fraction

    def op(question: Question) -> str:
        first = signal.ops(question).first
        if not first:
            raise MetricAbsent(f"no op counts in {signal.name}_fraction")
        return first

    fraction.__name__ = f"{signal.name}_fraction"
    fraction.__doc__ = f"Share of step time in {signal.about}."
    op.__name__ = f"{signal.name}_op"
    op.__doc__ = (
        f"The costliest op of {signal.name}_fraction, with its line where the HLO "
        "tells it: `fusion.3 (train.py:42)`."
    )
    metric(fraction)
    fact(op)


for _signal in SIGNALS:
    _register(_signal)
