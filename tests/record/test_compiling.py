"""What the recorded process tells of compilations, on a clock of its own in seconds."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tfadvisor.record.injected.tfadvisor_hook import compiling
from tfadvisor.record.injected.tfadvisor_hook.compiling import Compilations

FUNC_GRAPH = "tensorflow.python.framework.func_graph"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(compiling, "time", SimpleNamespace(time=lambda: now[0]))
    return now


def test_a_tracing_counts_when_it_begins_and_ends_and_lasts_until_then(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two seconds, of which another one inside takes the last; then five of other work."""
    seen: list[tuple[float | None, float, int]] = []

    def outer() -> None:
        clock[0] += 1
        seen.append((compilations.last, compilations.seconds, compilations.count))
        module.func_graph_from_py_func(inner)

    def inner() -> None:
        clock[0] += 1

    module = SimpleNamespace(func_graph_from_py_func=lambda function: function())
    monkeypatch.setitem(sys.modules, FUNC_GRAPH, module)  # type: ignore[arg-type]
    compilations = Compilations()
    compilations.watch("tensorflow")

    module.func_graph_from_py_func(outer)
    clock[0] += 5

    assert seen == [(101.0, 1.0, 1)]
    assert (compilations.last, compilations.seconds, compilations.count) == (102.0, 2.0, 4)


def test_before_the_first_there_is_no_time() -> None:
    assert (Compilations().last, Compilations().seconds) == (None, 0.0)
