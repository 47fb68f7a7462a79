"""What to do with Python of the loop that takes time of the steps, by how the program's
source ties it to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.between_dispatches import host_frame
from tfadvisor.metrics.one_by_one import step_function
from tfadvisor.metrics.place_causes import tie_of_class
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, once
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import Tie


def _known(question: Question) -> Tie | None:
    """None where nothing ties the host's largest activity to the step."""
    try:
        return tie_of_class(question, TimeClass.HOST)
    except MetricAbsent:
        return None


def _is_ahead(question: Question, tie: Tie, function: str) -> bool:
    """Whether the source shows that nothing which a step gives goes into it."""
    source = question.settings.source
    return source is not None and source.can_be_made_ahead(
        tie.file, tie.line, function, frozenset()
    )


def _frame(question: Question) -> str:
    """`report` of `report (train.py:42)`; `make` for a line outside of functions."""
    name, at, _ = host_frame(question).partition(" (")
    return name if at and name.isidentifier() else "make"


def _step(question: Question) -> str:
    return step_function(question.run) or "train_step"


# What makes an argument of the step.


class _Change(NamedTuple):
    words: str
    before: str
    after: str


@once
def _argument(question: Question) -> _Change:
    """Raises MetricAbsent where it makes none, as far as the source shows."""
    known = _known(question)
    tied = None if known is None else known.tied
    if known is None or tied is None or known.tie != "argument":
        raise MetricAbsent("the source shows no argument of the step that it makes")
    if _runs_ops(question):
        raise MetricAbsent("its line runs ops one by one")
    frame, step = host_frame(question), _step(question)
    name = tied.function or _frame(question)
    if tied.is_same:
        return _Change(
            f"{frame} makes an argument of the step of what no step changes: make it "
            "once, before the loop.",
            f"for step in range(steps):\n    {known.text}",
            f"{known.text}            # once, before the loop\n"
            "for step in range(steps): ...",
        )
    if _is_ahead(question, known, tied.function):
        return _Change(
            f"{frame} makes an argument of the step: make the next one while this step "
            "runs, on a thread or in an input pipeline.",
            f"for i in range(steps):\n    state = {step}(state, {name}(i))",
            f"ahead = executor.submit({name}, 0)"
            "                  # concurrent.futures.ThreadPoolExecutor(1)\n"
            "for i in range(steps):\n"
            f"    batch, ahead = ahead.result(), executor.submit({name}, i + 1)\n"
            f"    state = {step}(state, batch)",
        )
    return _Change(
        f"{frame} makes an argument of the step. Is it made of what a step gave? Then "
        "nothing of it can be done ahead: let it do less for each step, in operations "
        "of NumPy on whole arrays, or in the compiled function. Else make the next one "
        "on a thread while this step runs.",
        f"{known.text}\nstate = {step}(state, made)",
        f"def step(state, raw):                     # compiled as a whole\n"
        f"    return {step}(state, {name}(raw))       # in the framework's operations",
    )


@fact
def host_argument_change(question: Question) -> str:
    """What to do with host_frame, where it makes an argument of the step by the
    program's source: once, ahead, or less.
    """
    return _argument(question).words


@fact
def host_argument_before(question: Question) -> str:
    """The same as the program has it, or an example."""
    return _argument(question).before


@fact
def host_argument_after(question: Question) -> str:
    """The same after the change."""
    return _argument(question).after


# What nobody knows.

_UNKNOWN = (
    "The trace does not show what this Python is for. What makes an argument of the "
    "step can be made ahead, on a thread or in an input pipeline; what the step does "
    "not need can run less often, or in another process; what is the step itself "
    "belongs in the compiled function."
)


@fact
def host_question(question: Question) -> str:
    """What to ask of the Python that takes the host's time, as far as neither trace nor
    source shows what it is for. Always known.
    """
    try:
        frame = host_frame(question)
    except MetricAbsent:
        return _UNKNOWN
    known = _known(question)
    if known is not None and known.tie == "step":
        return (
            f"{frame} is the step: what it does in Python beside the compiled function "
            "belongs into that, or before the loop."
        )
    if _runs_ops(question):
        return (
            f"{frame} runs ops of the framework one by one, which takes Python for "
            "each: put them into one compiled function."
        )
    if question.settings.source is None:
        return _UNKNOWN
    return (
        f"Nothing shows whether the step needs what {frame} does. Does it make an "
        "argument of the step? Then make the next one ahead, on a thread or in an "
        "input pipeline. Does the step not need it? Then do it less often, or in "
        "another process. Is it the step itself? Then it belongs in the compiled "
        "function."
    )


def _runs_ops(question: Question) -> bool:
    """Whether samples of the steps find ops that run one by one on its line."""
    account = question.settings.account
    at = host_frame(question).partition("(")[2].rstrip(")")
    lines = [] if account is None else [share.what for share in account.ops_at]
    return bool(at) and at in lines
