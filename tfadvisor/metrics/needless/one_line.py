"""What kind of work the user's line is that takes most compute time."""

from __future__ import annotations

from tfadvisor.metrics.kernels.first_device import known_ops
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.op_in_program import InProgram
from tfadvisor.timeline.summary.hot_ops import HotOp
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

_MOST_OF = 0.5
"""Of an op's operations, from which it is a product: a loop counts with all that it runs."""


@once
def _ops_of_line(question: Question) -> list[HotOp]:
    """Of the line that takes most of the first device's time. Raises MetricAbsent where the HLO names none."""
    lines: dict[tuple[str, int], list[HotOp]] = {}
    for one in known_ops(question).ops:
        if one.known is not None and one.known.file:
            lines.setdefault((one.known.file, one.known.line), []).append(one)
    if not lines:
        raise MetricAbsent("the trace holds no HLO that says which lines its ops come from")
    return max(lines.values(), key=lambda ops: sum(one.total_ps for one in ops))


def _multiplies(known: InProgram) -> bool:
    return bool(known.products) or known.cost.matrix_flops > _MOST_OF * known.cost.flops


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def largest_line_product_free_share(question: Question) -> float:
    """Share of the compute time of the user's costliest line that is no matrix product and no convolution by the trace's
    HLO. Products are what accelerators and libraries are fast at, so other work that dominates a step deserves a look.
    """
    ops = _ops_of_line(question)
    total = sum(one.total_ps for one in ops)
    return 1 - sum(one.total_ps for one in ops if one.known and _multiplies(one.known)) / max(total, 1)


@fact
def largest_line_place(question: Question) -> str:
    """The costliest op of the user's costliest line, with that line: `call.4 (fly.py:64)`."""
    return _ops_of_line(question)[0].place()
