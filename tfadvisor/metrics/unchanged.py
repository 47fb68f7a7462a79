"""What a program of the step computes anew in each step, though it is made only of
arguments that the loop gives it unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tfadvisor.metrics.kinds import known_ops, of_step_time
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.timeline.names.program_calls import function_of_module
from tfadvisor.timeline.summary import HotOp
from tfadvisor.units import Unit

_PASSES = ("copy", "bitcast", "broadcast", "parameter", "tuple", "get-tuple-element")
"""Opcodes that compute nothing."""


class Again(msgspec.Struct, frozen=True):
    """What one program computes again."""

    function: str
    """That was compiled."""
    ops: tuple[HotOp, ...]
    """The largest first."""
    made_of: tuple[str, ...]
    """The arguments that they are made of, by name."""
    loop: str
    """That gives it these: `train.py:42`."""

    @property
    def ps(self) -> int:
        """Of all of them."""
        return sum(op.total_ps for op in self.ops)


@once
def _again(question: Question) -> Again:
    """The program in which it takes most. Raises MetricAbsent."""
    programs: dict[str, list[HotOp]] = {}
    for op in known_ops(question).ops:
        if _made_of(op) and op.count > 1:
            programs.setdefault(op.module, []).append(op)
    found = [_of_program(question, name, ops) for name, ops in programs.items()]
    known = [again for again in found if again is not None]
    if not known:
        raise MetricAbsent(
            "no loop of the program's files is known to give a program of the step "
            "arguments that it does not change"
        )
    return max(known, key=lambda again: again.ps)


def _of_program(question: Question, module: str, ops: Sequence[HotOp]) -> Again | None:
    source, function = question.settings.source, function_of_module(module)
    if source is None or not function:
        return None
    names = frozenset[str]().union(*map(_made_of, ops))
    unchanged = source.unchanged_arguments(function, names)
    if unchanged is None or unchanged.names == names:  # to measure a call
        return None
    same = [op for op in ops if _made_of(op) <= unchanged.names and _computes(op)]
    order = [name for op in same for name in sorted(_made_of(op))]
    loop = f"{unchanged.file}:{unchanged.line}"
    return Again(function, tuple(same), tuple(dict.fromkeys(order)), loop)


def _computes(op: HotOp) -> bool:
    return op.known is not None and op.known.effect not in _PASSES


def _made_of(op: HotOp) -> frozenset[str]:
    """Nothing for unknown, and for tables that the compiler makes of no argument."""
    return (op.known.made_of if op.known is not None else None) or frozenset()


def same_results(question: Question) -> list[HotOp]:
    """Its ops, the largest first. Raises MetricAbsent."""
    return list(_again(question).ops)


@metric(unit=Unit.FRACTION)
def same_result_fraction(question: Question) -> float:
    """Share of step time in ops of a JAX program whose result is the same in each
    round: by the program's HLO they are made of nothing but arguments that the loop
    gives it unchanged, by the program's files. Of the program in which they take most.
    """
    return of_step_time(question, same_results(question), known_ops(question))


@fact
def same_result_function(question: Question) -> str:
    """The compiled function that computes them: `predict`."""
    return _again(question).function


@fact
def same_result_arguments(question: Question) -> str:
    """The arguments that they are made of: `train_x and train_y`."""
    found = _again(question)
    if not found.ops:
        raise MetricAbsent("no op is made of these alone")
    *others, last = found.made_of
    return " and ".join(filter(None, (", ".join(others), last)))


@fact
def same_result_line(question: Question) -> str:
    """That takes most of it, with its op: `cholesky.0 (train.py:18)`."""
    found = same_results(question)
    if not found:
        raise MetricAbsent("no op is made of these alone")
    return found[0].place() or found[0].name()


@fact
def same_result_loop(question: Question) -> str:
    """The loop that gives the function these: `train.py:42`."""
    return _again(question).loop
