"""The program's own functions that a change would edit, by its source: where ops run
one by one in the steps, and what is compiled again and again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes import PREDICTS
from tfadvisor.metrics.between_dispatches import (
    recompiled_cause,
    recompiled_function,
    recompiled_owner,
)
from tfadvisor.metrics.capture import entry, framework
from tfadvisor.metrics.one_by_one import step_function
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import an_accelerator, class_shares
from tfadvisor.tallies import added_up
from tfadvisor.timeline.attribution import largest_places
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfadvisor.causes import CompiledAgain, HostWork, ProgramSource, Signature

_MOSTLY = 0.5
_COMPILES = TimeClass.COMPILE.label
"""As parts of the run have it."""


def _source(question: Question) -> ProgramSource:
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    return source


# Loops.


@fact
def loop_question(question: Question) -> str:
    """What the program's own loop asks of its step's results in each round, to know
    whether to go on, with its line: `err > tol (solve.py:64)`. Each round waits for the
    device then. Of JAX alone.
    """
    if framework(question) != "jax":
        raise MetricAbsent("the program is not written in JAX")
    step = _step(question)
    text, file, line = _source(question).asked_of(step)
    if not text:
        raise MetricAbsent(f"no loop around {step} asks for its results")
    return place_in_words(file, line, text)


@fact
def loop_beside_rounds(question: Question) -> str:
    """Whether that loop does more than its rounds up to its end, as take batches, call,
    keep or show something: yes or no, by the program's source. One that does not may be
    compiled whole.
    """
    loop_question(question)
    return "no" if _source(question).runs_alone(_step(question)) else "yes"


def _step(question: Question) -> str:
    step = step_function(question.run)
    if step is None:
        raise MetricAbsent("no compiled function holds most of what the devices do")
    return step


@metric(needs=(an_accelerator,))
def loop_question_fraction(question: Question) -> float:
    """Share of step time in which no device works where the loop asks so, but for what
    waits for input or compiles: the host launches no round ahead.
    """
    loop_question(question)
    shares = class_shares(question.run)
    waits = (TimeClass.LAUNCH, TimeClass.HOST, TimeClass.IDLE)
    return sum(shares[kind] for kind in waits)


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


# What runs the steps.


@fact
def entry_line(question: Question) -> str:
    """The line of the program's loop that makes the call of `entry`, where the source
    shows one alone: `main (train.py:62)`.
    """
    source = _source(question)
    lines = source.calls_of(entry(question))
    if len(lines) != 1:
        raise MetricAbsent("no loop of the source makes that call, or several do")
    ((file, line),) = lines
    found = source.function_at(file, line)
    return place_in_words(file, line, "" if found is None else found.name)


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
    as far as it has lines, else by samples of the run. Raises MetricAbsent.
    """
    time = added_up(
        ((part.file, part.line), float(part.ps))
        for host in question.run.hosts
        for part in host.evidence.spent
        if part.kind is TimeClass.COMPILE and part.file
    ) or added_up(_compiling_in_samples(question))
    most = max(time, key=time.__getitem__, default=None)
    if most is None or time[most] < _MOSTLY * sum(time.values()):
        raise MetricAbsent("no line compiles most of what the steps compile")
    return most


def _compiling_in_samples(
    question: Question,
) -> Iterator[tuple[tuple[str, int], float]]:
    """((file, line), share of the run) of what compiles more than once."""
    account = question.settings.account
    for part in () if account is None else account.parts:
        for share in (part, *part.statements):
            if share.kind == _COMPILES and share.places and share.turns != 1:
                place = share.places[0]
                yield (place.file, place.line), share.fraction


@fact
def recompiled_anew(question: Question) -> str:
    """What makes the function that is compiled again anew in each call, as the begin of
    a sentence: `step is made anew in each call of trainer (train.py:12), which a loop
    calls`. By the program's source, else by frames of Python.
    """
    cause = _cause(question)
    if cause == "cache":
        return "jax.clear_caches() forgets all programs in the steps (take it out)"
    made = _made_anew(question)
    # programs of that name are several functions'
    is_shared = recompiled_function(question) == _LAMBDA and made is not None
    if cause not in _OF_NO_ARRAYS and not is_shared:
        raise MetricAbsent("its programs differ, so it is compiled for what changes")
    if made is not None and not (cause == "value" and made.takes_values):
        return made.words
    if cause == "value":
        raise MetricAbsent("its programs compute something else of arrays alike")
    if cause == "function":
        return f"{compiled_by(question)} is called in the steps"
    name, place = recompiled_function(question), _compiling(question).words
    return f"{name} is none of this program's functions: what {place} calls compiles it"


@fact
def recompiled_anew_before(question: Question) -> str:
    """Where the source makes it, in two lines or more: the head of a function, and what
    is made in it. Of what only frames show, an example.
    """
    made = _made_anew(question)
    if made is not None:
        return made.before
    return _compiled_whole(question).before


@fact
def recompiled_anew_once(question: Question) -> str:
    """The same as code that makes one compiled function, once."""
    made = _made_anew(question)
    if made is not None:
        return made.once
    by, whole = compiled_by(question), _compiled_whole(question)
    return whole.around or f"# once, before the loop\n@{by}\n{whole.once}"


@fact
def compiled_by(question: Question) -> str:
    """What compiles a function in this framework: `jax.jit`, `tf.function`, else
    `compiled`.
    """
    return _COMPILERS.get(framework(question), "compiled")


_LAMBDA = "<lambda>"
_OF_NO_ARRAYS = ("", "same", "argument", "function", "value")
"""Causes beside which what is compiled may be made anew: arrays are alike."""
_COMPILERS = {"jax": "jax.jit", "tensorflow": "tf.function"}


def _cause(question: Question) -> str:
    try:
        return recompiled_cause(question)
    except MetricAbsent:
        return ""


@once
def _made_anew(question: Question) -> CompiledAgain | None:
    """By the source, around the line that compiles most; None where it does not show
    it.
    """
    source = question.settings.source
    if source is None:
        return None
    if recompiled_owner(question) == "Keras":
        file, line = _compile_line(question)
        return source.model_anew(file, {line})
    name, (file, line) = recompiled_function(question), _compile_line(question)
    is_step = name == step_function(question.run)
    return source.compiled_again(file, line, name, is_step=is_step)


class _Compilable(NamedTuple):
    """What can be compiled whole, in the program's own code."""

    words: str
    """Where: `sample (train.py:2)`."""
    before: str
    once: str
    """Below its compiler's line."""
    around: str = ""
    """The whole code instead, where another function has to be compiled around it."""


def _compiled_whole(question: Question) -> _Compilable:
    if _cause(question) in ("cache", "function"):
        return _function("", "def train_step(state, batch):")
    return _compiling(question)


def _function(words: str, head: str) -> _Compilable:
    before = f"{head}\n    ...                            # compiled in each call"
    return _Compilable(words, before, f"{head}\n    ...")


def _compiling(question: Question) -> _Compilable:
    """What calls a library that compiles: the program's function around its line, if
    that does nothing that a compiler would do once, else the call alone. Raises
    MetricAbsent.
    """
    name, source = recompiled_function(question), _source(question)
    is_own = name == _LAMBDA or source.defines(name)
    if is_own or recompiled_owner(question) == "Keras":
        raise MetricAbsent(f"no function that a loop calls makes {name} anew")
    file, line = _compile_line(question)
    found = source.function_at(file, line)
    work = source.host_work(file, line)
    words = place_in_words(file, line, "" if found is None else found.name)
    if found is not None and not found.decorators and not work.what:
        around = source.call_that_gives(file, line, compiled_by(question))
        return _function(words, found.head)._replace(around=around or "")
    call = source.call_in_loop(file, line)
    if call is None:
        raise MetricAbsent(f"{words} works on the host: {work.what}")
    before = f"{call.statement}  # compiled in each call"
    return _Compilable(words, before, call.once)
