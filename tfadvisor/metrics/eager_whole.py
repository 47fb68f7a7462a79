"""What of the program can be compiled whole where its ops run one by one, as code."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.metrics.capture import framework
from tfadvisor.metrics.own_functions import compiled_by, eager_head
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, once

if TYPE_CHECKING:
    from tfadvisor.causes import ProgramSource, RunAccount, RunPlace, Signature

_MUCH = 0.3
"""Of the steps' time, in what a function does once in each of its calls."""


class _Whole(NamedTuple):
    words: str
    before: str
    once: str


def _known(question: Question) -> tuple[RunAccount, ProgramSource]:
    account, source = question.settings.account, question.settings.source
    if account is None or source is None:
        raise MetricAbsent("samples of the run, or the program's files, are not there")
    return account, source


@once
def _whole(question: Question) -> _Whole:
    """A plain function as it stands, else the call of a method, else what a function
    does that a loop calls. Raises MetricAbsent.
    """
    account, source = _known(question)
    try:
        head = eager_head(question)
    except MetricAbsent:
        if account.ops_in is not None:
            return _of_call(question, account.ops_in)
        return _of_calls(question, account, source)
    name = head.removeprefix("def ").partition("(")[0]
    return _function(question, name, head)


def _function(question: Question, words: str, head: str, note: str = "") -> _Whole:
    before = f"{head}\n    ...                                          # op by op"
    return _Whole(words, before, f"@{compiled_by(question)}\n{head}{note}\n    ...")


def _of_call(question: Question, place: RunPlace) -> _Whole:
    """Of a method that does nothing on the host, on the line of the loop."""
    account, source = _known(question)
    found = source.function_at(place.file, place.line)
    if found is None or not found.is_method or found.decorators:
        raise MetricAbsent(f"{place.words} is no method that is called as it stands")
    if framework(question) == "jax" and source.base_at(place.file, place.line):
        raise MetricAbsent("a model of Flax or Equinox has a compiler of its own")
    work = source.host_work(place.file, place.line).what
    if work:
        raise MetricAbsent(f"{found.name} works on the host: {work}")
    lines = account.parts[0].places[:1]  # it takes most of the steps
    for line in lines:
        call = source.called_whole(line.file, line.line, found.name)
        if call is not None:
            before = f"for ...:\n    {call.statement}      # op by op"
            once = call.once(compiled_by(question))
            return _Whole(f"`{call.call}`", before, once)
    raise MetricAbsent(f"no line of the loop calls {found.name} by one name")


def _of_calls(question: Question, account: RunAccount, source: ProgramSource) -> _Whole:
    """Of a function whose calls are what goes round: a loop calls it, and much of the
    steps is on lines of it that are in no loop.
    """
    steps = account.parts[0]
    lines = {
        (place.file, place.function): place
        for share in steps.statements
        for place in share.places
    }
    if len(lines) != 1:
        raise MetricAbsent("the steps are in several functions of the program")
    (place,) = lines.values()
    once = sum(
        share.fraction
        for share in steps.statements
        if not source.is_in_loop(share.places[0].file, share.places[0].line)
    )
    found = source.function_at(place.file, place.line)
    if found is None or found.decorators or not source.calls_of(found.name):
        raise MetricAbsent("no loop calls the function around the steps")
    if once < _MUCH * steps.fraction:
        raise MetricAbsent(f"{found.name} goes round the steps itself")
    return _of_function(question, source, found, place)


def _of_function(
    question: Question, source: ProgramSource, found: Signature, place: RunPlace
) -> _Whole:
    if found.is_method and framework(question) != "tensorflow":
        raise MetricAbsent(f"{found.name} is a method")
    work = source.host_work(place.file, place.line)
    if work.on_arrays:
        raise MetricAbsent(f"{found.name} makes arrays on the host: {work.what}")
    if not work.what:
        return _function(question, found.name, found.head)
    head = found.head.replace(found.name, f"{found.name}_of", 1)
    note = f"      # all that {found.name} computes"
    whole = _function(question, found.name, head, note)
    before = f"{found.head}\n    ...                     # op by op, and {work.what}"
    return whole._replace(before=before)


@fact
def eager_whole(question: Question) -> str:
    """What can be compiled whole where nearly all ops of the steps run one by one, by
    samples and source: a plain function, `act`; a method's call, `model(**inputs)`;
    or a function of which the steps are calls, with what it does on the host outside.
    """
    return _whole(question).words


@fact
def eager_whole_before(question: Question) -> str:
    """The same as the program has it: `def act(params, observation):`, and a line."""
    return _whole(question).before


@fact
def eager_whole_once(question: Question) -> str:
    """The same, compiled once."""
    return _whole(question).once
