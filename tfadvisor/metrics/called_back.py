"""What the Python function does that the compiled step calls, by the program's
source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.metrics.between_dispatches import step_python
from tfadvisor.metrics.capture import framework
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, once

if TYPE_CHECKING:
    from tfadvisor.causes.searching_loops import SearchingLoop


@once
def _loop(question: Question) -> SearchingLoop:
    """Its loop over elements. Raises MetricAbsent."""
    source, called = question.settings.source, step_python(question)
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    found = source.called_back(called.file, called.line, framework(question))
    if found is None:
        raise MetricAbsent("the function that the step calls has no loop over elements")
    return found


@fact
def callback_loop(question: Question) -> str:
    """The loop of that function, and what it does in each round: `systematic goes
    through `for i in range(n)` (line 29), and in each round it …`.
    """
    found = _loop(question)
    return (
        f"{found.function} goes through `{found.head}` on line {found.line}, and in "
        f"each round {found.does}"
    )


@fact
def callback_kind(question: Question) -> str:
    """What the loop does in each round: `looks up` the place of a number in an array,
    `adds up` numbers, or it takes `elements`.
    """
    return _loop(question).kind


@fact
def callback_head(question: Question) -> str:
    """The loop's first line."""
    return f"{_loop(question).head}:"


@fact
def callback_whole(question: Question) -> str:
    """What does the same for all elements, in the program's own names."""
    whole = _loop(question).whole
    if not whole:
        raise MetricAbsent("what the loop does is not known for all elements")
    return whole
