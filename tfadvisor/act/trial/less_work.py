"""What a changed program does less often than the program as it is: then it may be
faster by what is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from tfadvisor.act.trial.tried_program import Timed

_FEWEST = 2
"""Times that it must come less often than expected, since steps that are timed may
hold one more or less of what comes every so many steps.
"""
_LESS = 0.5
"""Of what is expected, at most."""


class Counts(msgspec.Struct, frozen=True):
    """What some steps did."""

    steps: int = 0
    times: Mapping[str, int] = {}
    """By function, or by what stands under a condition, how often."""


def counts_of(timed: Timed) -> Counts:
    """Of a run that counted, in the process that made most steps."""
    samples = [
        (answer.sample.steps, answer.counts)
        for answer in timed.answers
        if answer.sample is not None
    ]
    return Counts(*max(samples, key=lambda sample: sample[0], default=(0, {})))


def less_often(base: Counts, new: Counts) -> tuple[str, ...]:
    """What the new one does at most half as often, in words: `evaluate (train.py): 0.01
    times a step instead of 0.05`; what is left of it least first. What it never counts
    may be compiled, renamed or part of another function now.
    """
    if not base.steps or not new.steps:
        return ()
    found = sorted(_less(base, new))
    return tuple(words for _, words in found)


def _less(base: Counts, new: Counts) -> Iterator[tuple[float, str]]:
    for name, times in base.times.items():
        expected, done = times * new.steps / base.steps, new.times.get(name, 0)
        if done and expected - done >= _FEWEST and done <= _LESS * expected:
            rates = done / new.steps, times / base.steps
            yield (
                done / expected,
                f"{name}: {rates[0]:.2g} times a step instead of {rates[1]:.2g}",
            )
