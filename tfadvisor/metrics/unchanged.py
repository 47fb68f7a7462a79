"""What a program of the step computes anew in each step, though it is made only of
constants and of arguments that the loop gives it unchanged.
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
    """The arguments that they are made of, by name; empty for constants alone."""
    loop: str
    """That gives it these: `train.py:42`; "" for constants alone."""

    @property
    def ps(self) -> int:
        """Of all of them."""
        return sum(op.total_ps for op in self.ops)


@once
def _again(question: Question) -> Again:
    """The program in which it takes most. Raises MetricAbsent."""
    programs: dict[str, list[HotOp]] = {}
    for op in known_ops(question).ops:
        if op.count > 1:
            programs.setdefault(op.module, []).append(op)
    found = [_of_program(question, name, ops) for name, ops in programs.items()]
    known = [again for again in found if again is not None]
    if not known:
        raise MetricAbsent(
            "no op of the step is known to be made of constants alone, or of arguments "
            "that a loop of the program's files gives it unchanged"
        )
    return max(known, key=lambda again: again.ps)


def _of_program(question: Question, module: str, ops: Sequence[HotOp]) -> Again | None:
    function = function_of_module(module) or ""
    unchanged, loop = _given_unchanged(question, function, ops)
    same = [op for op in ops if _is_made_of(op, unchanged) and _computes(op)]
    if not same or not function:
        return None
    order = [name for op in same for name in sorted(_made_of(op) or ())]
    made_of = tuple(dict.fromkeys(order))
    return Again(function, tuple(same), made_of, loop if made_of else "")


def _given_unchanged(
    question: Question, function: str, ops: Sequence[HotOp]
) -> tuple[frozenset[str], str]:
    """(arguments of a program, the loop that gives it these unchanged); none for
    unknown, and where all are, to measure a call.
    """
    source = question.settings.source
    names = frozenset[str]().union(*(_made_of(op) or () for op in ops))
    if source is None or not function or not names:
        return frozenset(), ""
    unchanged = source.unchanged_arguments(function, names)
    if unchanged is None or unchanged.is_all:
        return frozenset(), ""
    return unchanged.names, f"{unchanged.file}:{unchanged.line}"


def _is_made_of(op: HotOp, names: frozenset[str]) -> bool:
    """Whether it is made of nothing but these and constants."""
    made_of = _made_of(op)
    return made_of is not None and made_of <= names


def _computes(op: HotOp) -> bool:
    return op.known is not None and op.known.effect not in _PASSES


def _made_of(op: HotOp) -> frozenset[str] | None:
    """None for unknown."""
    return op.known.made_of if op.known is not None else None


def same_results(question: Question) -> list[HotOp]:
    """Its ops, the largest first. Raises MetricAbsent."""
    return list(_again(question).ops)


@metric(unit=Unit.FRACTION)
def same_result_fraction(question: Question) -> float:
    """Share of step time in ops of a JAX program whose result is the same in each
    round: by the program's HLO they are made of nothing but constants, and arguments
    that the loop gives it unchanged, by the program's files. Of the program in which
    they take most.
    """
    return of_step_time(question, same_results(question), known_ops(question))


@fact
def same_result_function(question: Question) -> str:
    """The compiled function that computes them: `predict`."""
    return _again(question).function


@fact
def same_result_arguments(question: Question) -> str:
    """The arguments that they are made of: `train_x and train_y`, else `constants`."""
    made_of = _again(question).made_of
    if not made_of:
        return "constants"
    *others, last = made_of
    return " and ".join(filter(None, (", ".join(others), last)))


@fact
def same_result_line(question: Question) -> str:
    """That takes most of it, with its op: `cholesky.0 (train.py:18)`."""
    again = _again(question)
    first = again.ops[0]
    line = _derived_at(first, again.function)
    return f"{first.name()} ({line})" if line else first.place() or first.name()


def _derived_at(op: HotOp, function: str) -> str:
    """Where a compiled function asks for derivatives along many directions at once: one
    line of what is differentiated is not what it computes. "" for other ops.
    """
    place = op.known.location if op.known is not None else None
    if place is None or not place.is_along_many:
        return ""
    for frame in place.frames:
        if frame.function.rpartition(".")[2] == function:
            return f"{frame.file.rpartition('/')[2]}:{frame.line}"
    return ""


@fact
def same_result_why(question: Question) -> str:
    """Why they stay the same, as a sentence."""
    loop = _again(question).loop
    if loop:
        return f"The loop at {loop} gives it the same in each round."
    return "By the HLO of the program nothing of that is an argument."
