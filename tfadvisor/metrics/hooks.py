"""What the program's own callbacks take of the steps, of which the training loop takes
nothing back: by samples of the run and by the program's source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import indent
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes import PREDICTS
from tfadvisor.metrics.between_dispatches import host_frame, host_frame_runs_step
from tfadvisor.metrics.collective_kinds import steps_per_execution
from tfadvisor.metrics.one_by_one import step_function
from tfadvisor.metrics.place_causes import class_cause, class_tie, tie_of_class
from tfadvisor.metrics.python_time import of_python
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import a_device
from tfadvisor.units import Unit, percent
from tfadvisor.vocabulary import Better, TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource, RunAccount, RunPlace, RunShare
    from tfadvisor.causes.hooks import Hook

_LEAST = 0.05
"""Of the steps, that a hook takes to be named."""
_WORTH_A_WORD = 0.1
"""Of a hook's time, for a line of it."""
_MOSTLY = 0.5
"""Of the loop's Python, for a hook to be what it is."""
_MOST_NAMED = 3
_NEEDED_SELDOM = ("logging", "saving")
_ARGUMENT, _RESULT, _STEP = "argument", "result", "step"
"""As the tie of a call to its step."""


class _Line(NamedTuple):
    """Of a hook, or of what it calls."""

    place: RunPlace
    fraction: float
    """Of the steps."""
    in_python: float
    """Of the steps, without ops that Python runs one by one and Keras' predict."""


class _InHook(NamedTuple):
    """A hook and its lines, most time first."""

    hook: Hook
    lines: tuple[_Line, ...]

    @property
    def fraction(self) -> float:
        """Of the steps."""
        return min(sum(line.fraction for line in self.lines), 1.0)

    @property
    def worth_a_word(self) -> tuple[_Line, ...]:
        """Lines that take much of it."""
        least = _WORTH_A_WORD * self.fraction
        return tuple(line for line in self.lines if line.fraction >= least)


@once
def _hook(question: Question) -> _InHook:
    """That which takes most of the steps. Raises MetricAbsent."""
    account, source = question.settings.account, question.settings.source
    if account is None or source is None:
        raise MetricAbsent("samples of the run, or the program's files, are not there")
    found: dict[str, _InHook] = {}
    for line in _lines(account):
        hook = source.hook_at(line.place.file, line.place.line)
        if hook is not None:
            known = found.get(hook.words, _InHook(hook, ()))
            found[hook.words] = known._replace(lines=(*known.lines, line))
    most = max(found.values(), key=lambda each: each.fraction, default=None)
    if most is None or most.fraction < _LEAST:
        raise MetricAbsent("no callback of the program takes a part of the steps")
    lines = sorted(most.lines, key=lambda line: -line.fraction)
    return most._replace(lines=tuple(lines))


def _lines(account: RunAccount) -> Iterator[_Line]:
    """The program's innermost lines in the steps."""
    steps = account.parts[0]
    python, ops = _by_line(account.python_at), _by_line(account.ops_at)
    whole = _by_line(steps.statements) if steps.fraction else {}
    for at in {**python, **ops, **whole}:
        share = python.get(at) or ops.get(at) or whole[at]
        own, op_by_op = _fraction(python, at), _fraction(ops, at)
        of_steps = _fraction(whole, at) / (steps.fraction or 1.0)
        fraction = max(of_steps, own + op_by_op)
        is_model = at in whole and whole[at].kind == PREDICTS
        in_python = own if is_model else fraction - op_by_op
        yield _Line(share.places[0], fraction, in_python)


def _fraction(shares: Mapping[tuple[str, int], RunShare], at: tuple[str, int]) -> float:
    return shares[at].fraction if at in shares else 0.0


def _by_line(shares: Sequence[RunShare]) -> dict[tuple[str, int], RunShare]:
    return {
        (place.file, place.line): share
        for share in shares
        for place in share.places[:1]
    }


def _source(question: Question) -> ProgramSource:
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    return source


@metric(unit=Unit.FRACTION, needs=(a_device,))
def hook_fraction(question: Question) -> float:
    """Share of step time in the function of the program that takes most of those which
    a training loop calls around its batches and of which it takes nothing back, as a
    callback of Keras: by samples of the run and by the program's source.
    """
    return _hook(question).fraction


@metric(unit=Unit.FRACTION, better=Better.NEITHER, needs=(a_device,))
def hook_python_share(question: Question) -> float:
    """Share of that function's time, without ops that Python runs one by one there and
    Keras' predict, in all of the step's time of Python and of input in which no device
    works; 1 where it is longer.
    """
    own = sum(line.in_python for line in _hook(question).lines)
    whole = of_python(question)
    if not whole:
        raise MetricAbsent("no Python runs while no device works")
    return min(own / whole, 1.0)


@fact
def hook(question: Question) -> str:
    """That function: `Gallery.on_train_batch_end (train.py:42)`."""
    return _hook(question).hook.words


class _Unneeded(NamedTuple):
    """What a step does not need."""

    words: str
    before: str
    after: str


def _of_hook(question: Question) -> _Unneeded:
    """Raises MetricAbsent."""
    found, source = _hook(question), _source(question)
    hook = found.hook
    lines = [(line.place.file, line.place.line) for line in found.worth_a_word]
    edit = source.hook_edit(hook, lines)
    if edit is None:
        raise MetricAbsent("its code shows no statements that can run less often")
    return _Unneeded(
        f"{hook.words} {_does(source, found)}. {edit.words}", edit.before, edit.after
    )


def _does(source: ProgramSource, found: _InHook) -> str:
    """By the calls on its lines that take much, with their shares of step time: `draws
    or encodes pictures (train.py:48, 56% of step time)`.
    """
    named = []
    for line in found.worth_a_word[:_MOST_NAMED]:
        place = line.place
        text = source.text_at(place.file, place.line)
        does = source.done_by_hook(found.hook, place.file, place.line)
        at = f"{place.file}:{place.line}, {percent(line.fraction)} of step time"
        named.append(f"{does or f'runs `{text}`'} ({at})")
    *rest, last = named
    return f"{', '.join(rest)} and {last}" if rest else last


def _of_frame(question: Question) -> _Unneeded:
    """By the call that takes most of the host's time: one that logs or saves, or only
    reads a step's result. Raises MetricAbsent.
    """
    frame, every = host_frame(question), steps_per_execution(question)
    cause, tie = (_known(question, asked) for asked in (class_cause, class_tie))
    if host_frame_runs_step(question) == "yes" or tie in (_ARGUMENT, _STEP):
        raise MetricAbsent(f"{frame} is a part of the step, or makes an argument of it")
    if cause not in _NEEDED_SELDOM and tie != _RESULT:
        raise MetricAbsent(f"nothing shows that the step does not need {frame}")
    each, counter = _statements(question)
    words = (
        f"The step does not need {frame}: do it once in {every} steps, which leaves it "
        "less than 5% of the time, and keep values on the device until then. What of "
        "it each step needs may be computed in the compiled step, on the device, or on "
        "a sample."
    )
    if each:
        after = f"if {counter or 'step'} % {every} == 0:\n{indent(each, '    ')}"
        return _Unneeded(words, each, after)
    step, name = step_function(question.run) or "train_step", frame.partition(" (")[0]
    called = f"state, loss = {step}(state, batch)"
    return _Unneeded(
        words,
        f"{called}\n{name}(step, float(loss))",
        f"{called}\nif step % {every} == 0:\n    {name}(step, float(loss))        "
        "# reading the value waits for the device",
    )


_MOST_STATEMENTS = 4


def _statements(question: Question) -> tuple[str, str]:
    """(those of the loop that call it in each round, the variable that counts the
    rounds), as far as the source shows them.
    """
    try:
        tied = tie_of_class(question, TimeClass.HOST).tied
    except MetricAbsent:
        return "", ""
    if tied is None:
        return "", ""
    return "\n".join(tied.each[:_MOST_STATEMENTS]), tied.counter


def _known(question: Question, asked: Callable[[Question, TimeClass], str]) -> str:
    try:
        return asked(question, TimeClass.HOST)
    except MetricAbsent:
        return ""


@once
def _unneeded(question: Question) -> _Unneeded:
    """Raises MetricAbsent."""
    try:
        if hook_python_share(question) >= _MOSTLY:
            return _of_hook(question)
    except MetricAbsent:
        pass
    return _of_frame(question)


@fact
def unneeded(question: Question) -> str:
    """What Python of the loop does that its step does not need, by the source or by the
    events inside of it, and how often is enough, in sentences.
    """
    return _unneeded(question).words


@fact
def unneeded_before(question: Question) -> str:
    """The program's lines that do it, two or more, or an example."""
    return _unneeded(question).before


@fact
def unneeded_after(question: Question) -> str:
    """The same for some of the steps alone."""
    return _unneeded(question).after
