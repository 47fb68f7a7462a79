"""The program's own functions that a change would edit, by its source: where ops run
one by one in the steps, and what is compiled again and again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.causes import PREDICTS
from tfadvisor.metrics.between_dispatches import (
    recompiled_cause,
    recompiled_function,
    recompiled_owner,
)
from tfadvisor.metrics.capture import framework
from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.tallies import added_up
from tfadvisor.timeline.attribution import largest_places
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import HostWork, ProgramSource, Signature

_MOSTLY = 0.5


def _source(question: Question) -> ProgramSource:
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    return source


# Ops one by one.


@fact
def eager_place(question: Question) -> str:
    """The program's function, called by its loop, in which nearly all ops run one by
    one, with its line that takes most: `act (agent.py:17)`; else the line that takes
    most. By samples of the steps, else by the trace.
    """
    account = question.settings.account
    if account is not None and account.ops_in is not None:
        return account.ops_in.words
    if account is not None and account.ops_at:
        return account.ops_at[0].places[0].words
    spent = (part for host in question.run.hosts for part in host.evidence.spent)
    place = largest_places(spent).get(f"{TimeClass.LAUNCH.label}_place")
    if place is None:
        raise MetricAbsent("neither trace nor samples name a line that dispatches ops")
    return place


def _eager(question: Question) -> Signature:
    account = question.settings.account
    place = None if account is None else account.ops_in
    if place is None:
        raise MetricAbsent("no function below the loop holds nearly all of these ops")
    found = _source(question).function_at(place.file, place.line)
    if found is None or found.name != place.function:
        raise MetricAbsent(f"the program's source shows it nowhere: {place.words}")
    return found


@fact
def eager_function(question: Question) -> str:
    """That function, where the program's source shows it as one that can be compiled
    whole: `act`. A method is none, nor what does anything on the host: that would be
    done once, while it is traced.
    """
    found = _eager(question)
    if found.is_method or found.decorators:
        raise MetricAbsent(f"{found.name} is a method, or decorated already")
    work = _host_work(question)
    if work.what:
        raise MetricAbsent(f"{found.name} works on the host: {work.what}")
    return found.name


def _host_work(question: Question) -> HostWork:
    account = question.settings.account
    if account is None or account.ops_in is None:
        raise MetricAbsent("no function below the loop holds nearly all of these ops")
    place = account.ops_in
    return _source(question).host_work(place.file, place.line)


@fact
def eager_maker(question: Question) -> str:
    """That function, where it makes arrays on the host as well, with what shows it:
    `batches (yield)`, `draw (np.random.uniform)`.
    """
    found, work = _eager(question), _host_work(question)
    if not work.on_arrays:
        raise MetricAbsent(f"{found.name} makes no arrays on the host")
    return f"{found.name} ({work.what})"


@fact
def eager_head(question: Question) -> str:
    """How the source begins it: `def act(params, observation):`."""
    eager_function(question)
    return _eager(question).head


# Predictions.


@fact
def predict_place(question: Question) -> str:
    """The program's line that takes most of the steps in calls of Keras' predict:
    `detect (train.py:28)`. By samples of the run.
    """
    account = question.settings.account
    statements = () if account is None else account.parts[0].statements
    for share in statements:
        if share.kind == PREDICTS and share.places:
            return share.places[0].words
    raise MetricAbsent("no samples show the steps of the program in Keras' predict")


# What is compiled again.


def _compile_line(question: Question) -> tuple[str, int]:
    """(file, line) on which most of what the steps compile is compiled, by the trace,
    as far as it has lines. Raises MetricAbsent.
    """
    time = added_up(
        ((part.file, part.line), part.ps)
        for host in question.run.hosts
        for part in host.evidence.spent
        if part.kind is TimeClass.COMPILE and part.file
    )
    most = max(time, key=time.__getitem__, default=None)
    if most is None or time[most] < _MOSTLY * sum(time.values()):
        raise MetricAbsent("no line compiles most of what the steps compile")
    return most


@fact
def recompiled_anew(question: Question) -> str:
    """What makes the function that is compiled again anew in each call, as the begin of
    a sentence: `step is defined inside of trainer (train.py:12), which a loop calls`,
    or `jax.jit of a lambda is called in evaluate (train.py:9), in a loop`. By frames of
    Python, else by the program's source.
    """
    cause = _cause(question)
    if cause in _SHOWN_BY_FRAMES:
        return _SHOWN_BY_FRAMES[cause]
    if cause not in ("", "same", "argument"):
        raise MetricAbsent("its programs differ, so it is compiled for what changes")
    name, source = recompiled_function(question), _source(question)
    file, line, around = _anew(question)
    place = place_in_words(file, line, around.name)
    if name == _LAMBDA:
        return f"{compiled_by(question)} of a lambda is called in {place}, in a loop"
    if source.defines(name):
        return f"{name} is defined inside of {place}, which a loop calls"
    return f"{name} is none of this program's functions: what {place} calls compiles it"


@fact
def recompiled_anew_head(question: Question) -> str:
    """How the source begins the function to compile instead: `def sample(key,
    state):`. Of one that only frames show, an example.
    """
    is_example = _cause(question) in _SHOWN_BY_FRAMES
    head = "" if is_example else _anew(question)[2].head
    if is_example or recompiled_function(question) == _LAMBDA:
        return "def train_step(state, batch):"
    return head


@fact
def compiled_by(question: Question) -> str:
    """What compiles a function in this framework: `jax.jit`, `tf.function`, else
    `compiled`.
    """
    return _COMPILERS.get(framework(question), "compiled")


_LAMBDA = "<lambda>"
_COMPILERS = {"jax": "jax.jit", "tensorflow": "tf.function"}
_SHOWN_BY_FRAMES = {
    "function": "jax.jit is called in the steps",
    "cache": "jax.clear_caches() forgets all programs in the steps (take it out)",
}


def _cause(question: Question) -> str:
    try:
        return recompiled_cause(question)
    except MetricAbsent:
        return ""


def _anew(question: Question) -> tuple[str, int, Signature]:
    """(file, line, the program's function that a loop calls and that makes it anew)."""
    name, source = recompiled_function(question), _source(question)
    if recompiled_owner(question) == "Keras":
        raise MetricAbsent(f"{name} is Keras' own")
    if name == _LAMBDA:
        return _with_a_lambda(question)
    if not source.defines(name):
        return _compilable(question, *_compiling(question))
    outer = source.outer_of(name)
    is_called = outer is not None and source.calls_of(outer[1].name)
    if outer is None or not is_called or source.calls_of(name):
        raise MetricAbsent("no function that a loop calls defines it inside")
    return _compilable(question, outer[0], outer[1].line, outer[1])


def _with_a_lambda(question: Question) -> tuple[str, int, Signature]:
    """(file, line that has it compiled, the function around it, which a loop calls)."""
    file, line = _compile_line(question)
    source = _source(question)
    function, at = source.function_at(file, line), source.lambda_line(file, line)
    if function is None or at is None or not source.calls_of(function.name):
        raise MetricAbsent("no function that a loop calls has a lambda compiled")
    return file, at, function


def _compilable(
    question: Question, file: str, line: int, function: Signature
) -> tuple[str, int, Signature]:
    """The same, if it does nothing that a compiler would do once. Raises
    MetricAbsent.
    """
    work = _source(question).host_work(file, function.line)
    if work.what:
        raise MetricAbsent(f"{function.name} works on the host: {work.what}")
    return file, line, function


def _compiling(question: Question) -> tuple[str, int, Signature]:
    """(file, line that compiles, the program's function around it)."""
    file, line = _compile_line(question)
    found = _source(question).function_at(file, line)
    if found is None or found.decorators:
        raise MetricAbsent("no plain function of the program's source calls it")
    return file, line, found
