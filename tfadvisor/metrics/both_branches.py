"""What one branch of a cond needs, made whichever is taken: since vmap runs both, or
since it is made before the cond.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tfadvisor.metrics.kinds import known_ops, known_where, of_step_time
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.patterns import pattern
from tfadvisor.timeline.summary import HotOp
from tfadvisor.units import Unit

_MAPPED = pattern(r"(?:^|/)vmap\(.*/select_n\Z")
_BEFORE = pattern(r"/(?:cond|switch)\Z")
"""Of paths of JAX's; the selects of a mapped loop have its own."""
VMAP, CALLER = "vmap", "caller"
"""What makes both: a vmap around the cond, or the program before it."""
_BRANCHES = re.compile(r"(?<!linalg\.)\b(?:cond|switch)\(")
"""What makes them, as programs write it; NumPy's is a matrix' condition number."""


_Chooses = tuple[str, int, str]
"""File and line of a cond or switch, and what makes what its branches need."""


@once
def _by_line(question: Question) -> Mapping[_Chooses, list[HotOp]]:
    """Ops of whose result one branch alone uses anything, the largest first. Raises
    MetricAbsent.
    """
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's files are not there")
    found: dict[_Chooses, list[HotOp]] = {}
    for op in known_where(question, lambda known: known.selected is not None):
        chosen = op.known.selected if op.known is not None else None
        by = _made_by(chosen.op_name) if chosen is not None else ""
        if chosen is not None and by:
            file = chosen.file.rpartition("/")[2]
            if _BRANCHES.search(source.text_at(file, chosen.line)):
                found.setdefault((file, chosen.line, by), []).append(op)
    if not found:
        raise MetricAbsent("no op's result is used by one branch of a cond alone")
    return found


def _made_by(path: str) -> str:
    """By the path of what chooses; "" for what is no cond."""
    if _MAPPED.search(path):
        return VMAP
    return CALLER if _BEFORE.search(path) else ""


def _largest(question: Question) -> tuple[_Chooses, list[HotOp]]:
    lines = _by_line(question)
    best = max(lines, key=lambda line: sum(op.total_ps for op in lines[line]))
    return best, lines[best]


@metric(unit=Unit.FRACTION)
def both_branches_fraction(question: Question) -> float:
    """Share of step time in ops of a JAX program whose result nothing uses but one
    branch of a cond or switch, and that run whichever is taken: since vmap makes a
    select of it, or since the program makes them before. Of the cond where they take
    most.
    """
    _, ops = _largest(question)
    return of_step_time(question, ops, known_ops(question))


@fact
def both_branches_cond(question: Question) -> str:
    """The line that calls it: `physics.py:26`."""
    (file, line, _), _ = _largest(question)
    return f"{file}:{line}"


@fact
def both_branches_by(question: Question) -> str:
    """What makes them whichever is taken: vmap, or caller for the program before it."""
    (_, _, by), _ = _largest(question)
    return by


@fact
def both_branches_line(question: Question) -> str:
    """The op of its branches that takes most: `while.7 (physics.py:21)`."""
    _, ops = _largest(question)
    return ops[0].place() or ops[0].name()
