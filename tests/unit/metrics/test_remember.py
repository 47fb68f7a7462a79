"""Work that several metrics share is done once a report."""

from __future__ import annotations

import pytest
from support.trace_builder import trace

from tfadvisor.metrics.registry import MetricAbsent, Question, Settings, once


def question() -> Question:
    return Question(trace().step(0, 10).build(), Settings())


def test_one_question_is_answered_once_and_another_anew() -> None:
    asked = []

    @once
    def shared(one: Question) -> int:
        asked.append(one)
        return len(asked)

    first, second = question(), question()

    assert [shared(first), shared(first), shared(second), shared(second)] == [
        1,
        1,
        2,
        2,
    ]


def test_a_reason_is_remembered_too() -> None:
    asked = []

    @once
    def shared(one: Question) -> int:
        asked.append(one)
        raise MetricAbsent("no GPU")

    one = question()
    for _ in range(2):
        with pytest.raises(MetricAbsent, match="no GPU"):
            shared(one)

    assert len(asked) == 1


def test_an_answer_does_not_keep_the_run_alive() -> None:
    shared = once(lambda one: 1)
    one = question()
    shared(one)
    del one

    assert shared(question()) == 1
