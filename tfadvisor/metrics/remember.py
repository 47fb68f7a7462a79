"""Work that several metrics of one report share is done once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from tfadvisor.metrics.registry import MetricAbsent

Q = TypeVar("Q")
T = TypeVar("T")


def once(function: Callable[[Q], T]) -> Callable[[Q], T]:
    """Remembers the answer, or why there is none, to the question (or run) asked about last: a report asks about one."""
    held: list[tuple[weakref.ref[Q], T | None, str | None]] = []

    @wraps(function)
    def answer(question: Q) -> T:
        if not held or held[0][0]() is not question:
            found, absent = None, None
            try:
                found = function(question)
            except MetricAbsent as error:
                absent = str(error)
            held[:] = [(weakref.ref(question), found, absent)]
        _, found, absent = held[0]
        if absent is not None:
            raise MetricAbsent(absent)
        return found  # type: ignore[return-value]

    return answer
