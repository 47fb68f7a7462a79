"""Branches that run for every element, since vmap makes both of a cond."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tfadvisor.metrics.kinds import known_ops, known_where, of_step_time
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.patterns import pattern
from tfadvisor.timeline.summary import HotOp
from tfadvisor.units import Unit

_MAPPED = pattern(r"(?:^|/)vmap\(")
"""Of a path of JAX's."""
_BRANCHES = re.compile(r"\b(?:cond|switch)\(")
"""What makes them, as programs write it."""


@once
def _by_line(question: Question) -> Mapping[tuple[str, int], list[HotOp]]:
    """By the program's line that calls cond or switch, ops of which its select alone
    uses the result, the largest first. Raises MetricAbsent.
    """
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's files are not there")
    found: dict[tuple[str, int], list[HotOp]] = {}
    for op in known_where(question, lambda known: known.selected is not None):
        chosen = op.known.selected if op.known is not None else None
        if chosen is not None and _MAPPED.search(chosen.op_name):
            file = chosen.file.rpartition("/")[2]
            if _BRANCHES.search(source.text_at(file, chosen.line)):
                found.setdefault((file, chosen.line), []).append(op)
    if not found:
        raise MetricAbsent("no op's result is chosen by a cond that vmap maps")
    return found


def _largest(question: Question) -> tuple[tuple[str, int], list[HotOp]]:
    lines = _by_line(question)
    best = max(lines, key=lambda line: sum(op.total_ps for op in lines[line]))
    return best, lines[best]


@metric(unit=Unit.FRACTION)
def both_branches_fraction(question: Question) -> float:
    """Share of step time in ops of a JAX program whose result nothing uses but the
    select that vmap makes of one cond or switch: both branches run for every element,
    whichever it takes. Of the cond whose branches take most.
    """
    _, ops = _largest(question)
    return of_step_time(question, ops, known_ops(question))


@fact
def both_branches_cond(question: Question) -> str:
    """The line that calls it: `physics.py:26`."""
    (file, line), _ = _largest(question)
    return f"{file}:{line}"


@fact
def both_branches_line(question: Question) -> str:
    """The op of its branches that takes most: `while.7 (physics.py:21)`."""
    _, ops = _largest(question)
    return ops[0].place() or ops[0].name()
