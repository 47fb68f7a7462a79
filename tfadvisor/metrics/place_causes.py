"""What the host's time is spent on, by the events that lie inside of it: facts that
rules ask before they name a cure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.causes import Cause, Done, RunDone, RunPlace, causes_of, ties_of
from tfadvisor.metrics.between_dispatches import host_frame
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import class_shares, counted_hosts, share_of_spent
from tfadvisor.patterns import pattern
from tfadvisor.tallies import added_up
from tfadvisor.timeline.attribution import Spent
from tfadvisor.timeline.names.doings import Doing
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.host_activities import DISPATCHES
from tfadvisor.units import Unit
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import Tie

_MOSTLY = 1 / 3
"""Of the activity's time, that one thing must take to be what it is spent on: most of
the rest is then what goes with it.
"""
_HALF = 0.5
"""Of the host's own time: what takes as much of it outweighs all the rest together."""
_OF_HOST = (TimeClass.INPUT, TimeClass.HOST, TimeClass.LAUNCH)
_OF_TENSORFLOW = (Doing.CONVERTING, Doing.EXTENDING)
_ONE_BY_ONE = (Doing.CONVERTING, Doing.FLATTENING)
"""What Python does for each value or node."""


class _Activity(msgspec.Struct, frozen=True):
    """An activity of the host that is spent on one thing for the most part."""

    kind: TimeClass
    name: str
    place: str
    done: Done
    ps: int


@once
def _spent(question: Question) -> Mapping[TimeClass, Mapping[str, list[Spent]]]:
    """The activities of each class."""
    found: dict[TimeClass, dict[str, list[Spent]]] = {kind: {} for kind in TimeClass}
    for host in counted_hosts(question.run):
        for part in host.evidence.spent:
            if part.activity:
                found[part.kind].setdefault(part.activity, []).append(part)
    return found


@once
def _activities(question: Question) -> list[_Activity]:
    """Those of which something inside tells what they are spent on, the longest
    first.
    """
    causes = causes_of(question.run)
    found: list[_Activity] = []
    for kind in _OF_HOST:
        for name, parts in _spent(question)[kind].items():
            done = _mostly(causes.get((kind, name)))
            if done is not None:
                ps = sum(part.ps for part in parts)
                found.append(_Activity(kind, name, _place(parts), done, ps))
    return sorted(found, key=lambda activity: -activity.ps)


def _mostly(cause: Cause | None) -> Done | None:
    if cause is None or not cause.does:
        return None
    done = cause.does[0]
    return done if done.fraction >= _MOSTLY else None


def _place(parts: list[Spent]) -> str:
    """`rows_of (train.py:17)`; "" where no line is known."""
    time = added_up(((part.file, part.line, part.function), part.ps) for part in parts)
    file, line, function = max(time, key=time.__getitem__)
    return f"{function} ({file}:{line})" if file and function else ""


# Of a class: what its largest activity is spent on.


def _named_frame(question: Question) -> str:
    try:
        return host_frame(question)
    except MetricAbsent:
        return ""


def _largest(question: Question, kind: TimeClass) -> str:
    """Of the host's own Python the call that `host_frame` names, so that what is said
    of one is never read of another. Raises MetricAbsent where the class takes no time.
    """
    if kind is TimeClass.HOST and question.run.hosts:
        named = _named_frame(question)
        if named:
            return named
    time = _time_of(question, kind)
    return max(time, key=time.__getitem__)


def _time_of(question: Question, kind: TimeClass) -> dict[str, int]:
    """ps by activity. Raises MetricAbsent where the class takes no time."""
    found = _spent(question)[kind]
    if not found:
        raise MetricAbsent(f"no step spends time on {kind.label}")
    return {name: sum(part.ps for part in parts) for name, parts in found.items()}


@metric
def one_dispatch_share(question: Question) -> float:
    """Share of the launch class that the dispatch of one compiled function takes, of
    that which takes most: from a half on it launches most, whatever is dispatched
    around it. Kernels that have not begun, and what the trace does not name, are of
    none.
    """
    time = _time_of(question, TimeClass.LAUNCH)
    named = (ps for name, ps in time.items() if name.startswith(DISPATCHES))
    return max(named, default=0) / sum(time.values())


def _sampled_cause(question: Question) -> str | None:
    """What samples of the whole run find in the steps for as long as half of the host's
    own time; None for nothing.
    """
    host = class_shares(question.run)[TimeClass.HOST]
    for done in (*_done(question), *_of_arrays(question, Doing.CONVERTING)):
        is_argument = done.what in {doing.slug for doing in _ONE_BY_ONE}
        if is_argument and done.fraction >= _HALF * host > 0:
            return done.what
    return None


def class_cause(question: Question, kind: TimeClass) -> str:
    """What the activity that takes most of a class is spent on. Raises MetricAbsent."""
    largest = _largest(question, kind)
    done = _mostly(causes_of(question.run).get((kind, largest)))
    if done is None:
        found = _sampled_cause(question) if kind is TimeClass.HOST else None
        if found is None:
            why = f"nothing inside of {largest} tells what it is spent on"
            raise MetricAbsent(why)
        return found
    return done.slug


def class_tie(question: Question, kind: TimeClass) -> str:
    """How that activity is tied to the step. Raises MetricAbsent."""
    return tie_of_class(question, kind).tie


@once
def _ties(question: Question) -> Mapping[tuple[TimeClass, str], Tie]:
    """Raises MetricAbsent."""
    if question.settings.source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    return ties_of(question.run, question.settings.source)


def tie_of_class(question: Question, kind: TimeClass) -> Tie:
    """Of that activity, where the source shows it. Raises MetricAbsent."""
    known = _ties(question).get((kind, _largest(question, kind)))
    if known is None:
        raise MetricAbsent("no loop in the source calls it beside a step")
    return known


def _register_class(kind: TimeClass) -> None:
    def cause(question: Question) -> str:
        return class_cause(question, kind)

    def tie(question: Question) -> str:
        return class_tie(question, kind)

    tie.__name__ = f"{kind.label}_tie"
    tie.__doc__ = (
        f"How the activity that takes most of the class `{kind.label}` is tied to the "
        "step, by the program's source: it makes an argument of it, reads its result "
        "or is the step."
    )
    fact(tie)
    cause.__name__ = f"{kind.label}_cause"
    cause.__doc__ = (
        f"What the activity that takes most of the class `{kind.label}` is spent on, "
        "by "
        "the events that lie inside of its time: converting, flattening, allocating, "
        "saving and so on."
    )
    fact(cause)


for _kind in _OF_HOST:
    _register_class(_kind)


# Of a thing that Python does one by one: how much of the step goes with it, and where.


def _done_for(question: Question, doing: Doing) -> list[_Activity]:
    """Raises MetricAbsent where no activity is spent on it."""
    mine = [
        activity
        for activity in _activities(question)
        if activity.done.slug == doing.slug
    ]
    if not mine:
        raise MetricAbsent(f"no activity of the host is spent on {doing.words}")
    return mine


def _done(question: Question) -> Sequence[RunDone]:
    """TensorFlow makes tensors of what Python has, and JAX takes trees of arguments
    apart; what each does of the other costs little.
    """
    account = question.settings.account
    jax = question.run.hosts[0].capture.framework == "jax"
    usual = (Doing.FLATTENING, Doing.CHECKING) if jax else _OF_TENSORFLOW
    slugs = {doing.slug for doing in usual}
    every = () if account is None else account.done
    return [done for done in every if done.what in slugs]


def _by_samples(question: Question, doing: Doing) -> RunDone:
    """The same as samples of the whole run have it, whose lines a trace without calls
    of Python functions does not know. Raises MetricAbsent.
    """
    for done in _done(question):
        if done.what == doing.slug and done.places:
            return done
    raise MetricAbsent(f"no activity of the host is spent on {doing.words}")


def _share(question: Question, activity: _Activity) -> float:
    """Of step time."""
    return share_of_spent(question.run, _spent(question)[activity.kind][activity.name])


_READS = (Doing.LOADING, Doing.DECODING)


def _of_python(question: Question, *doings: Doing) -> list[_Activity]:
    """Activities of Python between dispatches that are spent on one of these, for the
    most part. Raises MetricAbsent without any.
    """
    slugs = {doing.slug for doing in doings}
    found = [
        activity
        for activity in _activities(question)
        if activity.kind is TimeClass.HOST and activity.done.slug in slugs
    ]
    if not found:
        raise MetricAbsent(f"no Python of the loop is spent on {doings[0].words}")
    return found


@metric
def picturing_fraction(question: Question) -> float:
    """Share of step time of Python between dispatches, while no device works, in
    activities that are spent on encoding pictures for the most part.
    """
    found = _of_python(question, Doing.PICTURING)
    return sum(_share(question, activity) for activity in found)


@fact
def picturing_place(question: Question) -> str:
    """The function that takes most of that: `save_image (train.py:42)`."""
    return _of_python(question, Doing.PICTURING)[0].name


@metric
def file_reading_fraction(question: Question) -> float:
    """Share of step time of Python between dispatches, while no device works, in
    activities that are spent on reading files for the most part: unpacking and
    decoding too.
    """
    return sum(_share(question, activity) for activity in _of_python(question, *_READS))


@fact
def file_reading_place(question: Question) -> str:
    """The function that takes most of that: `load_file (train.py:42)`."""
    return _of_python(question, *_READS)[0].name


@metric
def known_python_share(question: Question) -> float:
    """Share of host_fraction in activities that are spent on encoding pictures or on
    reading files, for the most part.
    """
    found = _of_python(question, Doing.PICTURING, *_READS)
    host = class_shares(question.run)[TimeClass.HOST]
    return sum(_share(question, activity) for activity in found) / host


def launches_for_arguments(question: Question) -> float:
    """Share of step time of the class `launch` in activities that are spent, for the
    most part, on taking arguments apart, value by value or node by node: a cost of each
    call, whatever it runs.
    """
    return sum(
        _share(question, activity)
        for activity in _activities(question)
        if activity.kind is TimeClass.LAUNCH
        and activity.done.slug in {doing.slug for doing in _ONE_BY_ONE}
    )


def _recorded_or_sampled(question: Question, doing: Doing) -> list[_Activity] | RunDone:
    """By samples only what comes once for each node. Raises MetricAbsent."""
    try:
        return _done_for(question, doing)
    except MetricAbsent:
        if doing is Doing.CONVERTING:
            return _array_by_samples(question)
        found = _by_samples(question, doing)
        if found in _of_arrays(question, doing):
            raise
        return found


def _array_by_samples(question: Question) -> RunDone:
    """Values that JAX makes an array of. Raises MetricAbsent."""
    for done in _of_arrays(question, Doing.CONVERTING):
        return done
    words = Doing.CONVERTING.words
    raise MetricAbsent(f"no activity of the host is spent on {words}")


def _of_arrays(question: Question, doing: Doing) -> list[RunDone]:
    """What samples find of it on a line that makes an array of JAX of something that
    may be a list: no compiled function is called there.
    """
    account, source = question.settings.account, question.settings.source
    jax = question.run.hosts[0].capture.framework == "jax"
    if account is None or source is None or not jax:
        return []
    return [
        done
        for done in account.done
        if done.what == doing.slug
        and done.places
        and source.makes_array(done.places[0].file, done.places[0].line)
    ]


def _register_doing(doing: Doing) -> None:
    def fraction(question: Question) -> float:
        found = _recorded_or_sampled(question, doing)
        if isinstance(found, RunDone):
            return found.fraction
        return sum(_share(question, activity) for activity in found)

    def count(question: Question) -> float:
        return _done_for(question, doing)[0].done.count

    def event(question: Question) -> str:
        found = _recorded_or_sampled(question, doing)
        return found.by if isinstance(found, RunDone) else found[0].done.by

    def place(question: Question) -> str:
        found = _recorded_or_sampled(question, doing)
        if isinstance(found, RunDone):
            return _in_words(found.places[0])
        if not found[0].place:
            raise MetricAbsent("the trace names no line of it")
        return found[0].place

    name = doing.slug
    fraction.__name__ = f"{name}_fraction"
    fraction.__doc__ = (
        "Share of step time of the host's activities that are spent, for the most "
        "part, "
        f"on {doing.words}."
    )
    count.__name__ = f"{name}_count"
    count.__doc__ = (
        f"How often a step holds the event that is {doing.words}, at its costliest "
        "place."
    )
    event.__name__ = f"{name}_event"
    event.__doc__ = f"The event that is {doing.words}, at its costliest place."
    place.__name__ = f"{name}_place"
    place.__doc__ = (
        f"The function of the program in which most time goes into {doing.words}."
    )
    metric(fraction)
    metric(unit=Unit.COUNT)(count)
    fact(event)
    fact(place)


for _doing in _ONE_BY_ONE:
    _register_doing(_doing)


@fact
def converting_times(question: Question) -> str:
    """How often a step converts a Python value at the costliest place, as the end of a
    sentence: `, 8,192 times a step`; `, by samples of the whole run` where the trace
    does not tell.
    """
    if isinstance(_recorded_or_sampled(question, Doing.CONVERTING), RunDone):
        return ", by samples of the whole run"
    count = _done_for(question, Doing.CONVERTING)[0].done.count
    return f", {count:,.0f} times a step"


_LOOPS_OF_KERAS = pattern(r"\.(?:fit|evaluate|predict)\(")


def _in_words(place: RunPlace) -> str:
    return place_in_words(place.file, place.line, place.function)


@metric(unit=Unit.FRACTION)
def tensor_making_fraction(question: Question) -> float:
    """Share of the steps in which TensorFlow makes tensors of what Python has, by
    samples of the whole run; whether of lists or of arrays they do not show.
    """
    return _tensors_made(question).fraction


def _tensors_made(question: Question) -> RunDone:
    """Raises MetricAbsent."""
    source, found = question.settings.source, _by_samples(question, Doing.CONVERTING)
    place = found.places[0]
    text = "" if source is None else source.text_at(place.file, place.line)
    if _LOOPS_OF_KERAS.search(text):
        raise MetricAbsent("Keras' own loop makes them, at no line of the program")
    return found


@fact
def tensor_making_place(question: Question) -> str:
    """The line of the program that takes most of that: `main (train.py:60)`."""
    return _in_words(_tensors_made(question).places[0])


@fact
def tensor_making_part(question: Question) -> str:
    """The part of an array of the device that this line takes with an index of its
    loop, so that the index is made a tensor: `rows[i:i + 1]`.
    """
    source, place = question.settings.source, _tensors_made(question).places[0]
    part = None if source is None else source.indexed(place.file, place.line)
    if part is None:
        raise MetricAbsent("the source shows no part of an array there")
    return part.text


@metric(unit=Unit.FRACTION)
def nan_check_fraction(question: Question) -> float:
    """Share of the steps in which JAX looks for NaN in what a call has returned, and
    waits for it, by samples of the whole run.
    """
    return _by_samples(question, Doing.CHECKING).fraction


@fact
def nan_check_place(question: Question) -> str:
    """The line of the program whose calls it checks most: `train (train.py:58)`."""
    return _in_words(_by_samples(question, Doing.CHECKING).places[0])


@metric(unit=Unit.FRACTION)
def graph_extension_fraction(question: Question) -> float:
    """Share of the steps' time in which a session of TensorFlow 1 takes over ops that
    the graph has not had before, by samples of the whole run.
    """
    return _by_samples(question, Doing.EXTENDING).fraction


@fact
def graph_extension_place(question: Question) -> str:
    """The line of the program whose run of a session extends it most: `main
    (train.py:64)`.
    """
    return _in_words(_by_samples(question, Doing.EXTENDING).places[0])
