"""While loops that vmap runs for all rows until the last row ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.decompositions import factorises
from tfadvisor.metrics.kinds import known_ops, patterns_of_any_device
from tfadvisor.metrics.programs import share_with_launches
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.patterns import pattern
from tfadvisor.timeline.summary import HotOp

if TYPE_CHECKING:
    from tfadvisor.program.mapped_loops import MappedLoop

_OF_JAX = pattern(r"/random_gamma(?=/|\Z)|jit\(_?(?:loggamma|gamma|poisson|binomial)\)")
"""Loops of JAX's own that draw until a sample is accepted: no program can say of which
rows that takes long.
"""
COUNTS, VALUES = "counts", "values"
"""By what a row ends."""


class _LoopOps(NamedTuple):
    """A loop, and those of the hottest ops that run in it."""

    loop: MappedLoop
    ops: list[HotOp]

    def total_ps(self) -> int:
        return sum(op.total_ps for op in self.ops)


@once
def _largest(question: Question) -> _LoopOps:
    """The one that takes most time. Raises MetricAbsent."""
    patterns = patterns_of_any_device(question)
    ops = [op for op in known_ops(question).ops if op.module == patterns.module]
    found = [
        _LoopOps(loop, [op for op in ops if op.op in loop.kernels])
        for loop in patterns.mapped
        if not factorises(loop.path) and not _OF_JAX.search(loop.path)
    ]
    best = max(found, key=_LoopOps.total_ps, default=None)
    if best is None or not best.ops:
        raise MetricAbsent("no loop runs for all rows of a vmap until the last ends")
    return best


@metric
def mapped_loop_fraction(question: Question) -> float:
    """Share of step time in a while loop under JAX's vmap that runs for all rows until
    the last one ends, from the trace's HLO: the loop's kernels, and the launches
    between kernels in proportion to their number. Of the loop where they take most.
    """
    return share_with_launches(question, _largest(question).ops)


@fact
def mapped_loop(question: Question) -> str:
    """This loop: `while.7 (train.py:21)`."""
    loop, _ = _largest(question)
    return f"{loop.name} ({loop.line})" if loop.line else loop.name


@fact
def mapped_loop_op(question: Question) -> str:
    """The op in it that takes most time: `fusion.3 (train.py:19)`."""
    op = _largest(question).ops[0]
    return op.place() or op.name()


@fact
def mapped_loop_ends(question: Question) -> str:
    """By what a row ends: counts, where its condition compares integers alone, as a
    length; values, where it compares floating-point numbers, as where it converges.
    """
    return VALUES if _largest(question).loop.compares_floats else COUNTS
