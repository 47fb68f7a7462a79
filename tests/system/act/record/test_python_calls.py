"""Calls of Python functions as events: the program's own, and what they call; not what
the library does inside.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tfadvisor.act.record.injected.tfadvisor_hook.python_calls import PythonCalls

HERE = Path(__file__).name
EVENTS: list[str] = []


class Event:
    def __init__(self, name: str) -> None:
        self.name = name
        EVENTS.append(f"+{name}")

    def Stop(self) -> None:  # noqa: N802
        EVENTS.append(f"-{self.name}")


def log_metrics(values: list[int]) -> str:
    return json.dumps(values)


def fails() -> None:
    raise ValueError


def followed(work: object, before: object = None) -> list[str]:
    """The events of work(), without those of the test's own file that end the
    following.
    """
    EVENTS.clear()
    calls = PythonCalls(Event)
    sys.setprofile(before)  # type: ignore[arg-type]
    try:
        calls.begin()
        for _ in range(100):
            pass  # the main thread takes what is pending between two instructions
        work()  # type: ignore[operator]
        calls.end()
        log_metrics([])  # the first call after the end
        assert sys.getprofile() is None or before is not None
    finally:
        sys.setprofile(None)
    return [event for event in EVENTS if " begin" not in event and " end" not in event]


def test_own_functions_and_what_they_call() -> None:
    line = log_metrics.__code__.co_firstlineno
    library = f"$__init__.py:{json.dumps.__code__.co_firstlineno} dumps"

    assert followed(lambda: log_metrics([1]))[1:5] == [
        f"+${HERE}:{line} log_metrics",
        f"+{library}",
        f"-{library}",
        f"-${HERE}:{line} log_metrics",
    ]


def test_a_function_that_raises_ends_too() -> None:
    def work() -> None:
        try:
            fails()
        except ValueError:
            log_metrics([])

    named = [
        event.rpartition(" ")[2] if event[0] == "+" else "-" for event in followed(work)
    ]

    assert named == ["work", "fails", "-", "log_metrics", "dumps", "-", "-", "-"]


def test_it_counts_what_it_follows() -> None:
    """A thousand calls and returns, and those of the test itself around them."""

    def work() -> None:
        return None

    calls = PythonCalls(Event)
    calls.begin()
    for _ in range(100):
        pass
    for _ in range(1_000):
        work()
    calls.end()
    sys.setprofile(None)

    assert 2_000 <= calls.followed <= 2_010


def test_who_follows_already_stays() -> None:
    assert followed(lambda: log_metrics([1]), before=lambda *_: None) == []


def test_no_failure_reaches_the_program() -> None:
    """An event that cannot be made ends the following, and the call goes on."""

    class Fails(Event):
        def __init__(self, name: str) -> None:
            raise OSError(name)

    calls = PythonCalls(Fails)
    try:
        calls.begin()
        for _ in range(100):
            pass
        assert log_metrics([1]) == "[1]"
        assert sys.getprofile() is None
    finally:
        sys.setprofile(None)
