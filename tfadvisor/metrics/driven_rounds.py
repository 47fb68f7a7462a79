"""Short rounds that Python drives one by one, and that one compiled loop could do."""

from __future__ import annotations

from tfadvisor.causes import Rounds
from tfadvisor.metrics.capture import framework
from tfadvisor.metrics.one_by_one import step_function
from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import class_shares
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.vocabulary import TimeClass


@once
def _rounds(question: Question) -> Rounds:
    """Raises MetricAbsent."""
    if framework(question) != "jax":
        raise MetricAbsent("the program is not written in JAX")
    step = step_function(question.run)
    if step is None:
        raise MetricAbsent("no compiled function holds most of what the devices do")
    source = question.settings.source
    if source is None:
        raise MetricAbsent("the program's source is not given: --source DIR")
    found = source.driven_rounds(step)
    if found is None:
        raise MetricAbsent(f"no loop does nothing but rounds of {step}")
    return found


@metric
def driven_rounds_fraction(question: Question) -> float:
    """Share of step time in which no device works, but for what waits for input or
    compiles, where the program's source shows that the loop around the step does
    nothing but its rounds: each needs what the one before gave, and its number or a
    random key; what it collects is read by none. Of JAX alone.
    """
    _rounds(question)
    shares = class_shares(question.run)
    waits = (TimeClass.LAUNCH, TimeClass.HOST, TimeClass.IDLE)
    return sum(shares[kind] for kind in waits)


@fact
def driven_loop(question: Question) -> str:
    """That loop's first line, with the function around it: `sampler (train.py:28)`."""
    found = _rounds(question)
    return place_in_words(found.file, found.line, found.function or "the loop")


@fact
def driven_loop_lines(question: Question) -> str:
    """Its lines, six at most."""
    return _rounds(question).lines


@fact
def driven_loop_collects(question: Question) -> str:
    """Whether it keeps or yields something of each round: yes or no."""
    return "yes" if _rounds(question).collects else "no"
