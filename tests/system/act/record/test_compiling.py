"""What the recorded process tells of compilations, on a clock of its own in seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Thread
from types import SimpleNamespace

import pytest

from tfadvisor.act.record.injected.tfadvisor_hook import compilations
from tfadvisor.act.record.injected.tfadvisor_hook.compilations import Compilations

FUNC_GRAPH = "tensorflow.python.framework.func_graph"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(compilations, "time", SimpleNamespace(time=lambda: now[0]))
    return now


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """TensorFlow's, whose function traces by calling."""
    found = SimpleNamespace(func_graph_from_py_func=lambda function: function())
    monkeypatch.setitem(sys.modules, FUNC_GRAPH, found)  # type: ignore[arg-type]
    return found


def test_a_tracing_counts_once_when_the_outermost_ends_and_lasts_until_then(
    clock: list[float], module: SimpleNamespace
) -> None:
    """Two seconds, of which another one inside takes the last; then five of
    other work.
    """
    seen: list[tuple[float | None, float, int]] = []

    def outer() -> None:
        clock[0] += 1
        seen.append((compilations.last, compilations.seconds, compilations.count))
        module.func_graph_from_py_func(inner)

    def inner() -> None:
        clock[0] += 1

    compilations = Compilations()
    compilations.watch("tensorflow")

    module.func_graph_from_py_func(outer)
    clock[0] += 5

    assert seen == [(101.0, 1.0, 0)]
    assert (compilations.last, compilations.seconds, compilations.count) == (
        102.0,
        2.0,
        1,
    )


def test_a_tracing_that_fails_has_ended(
    clock: list[float], module: SimpleNamespace
) -> None:
    def fails() -> None:
        clock[0] += 3
        raise ValueError

    compilations = Compilations()
    compilations.watch("tensorflow")
    with pytest.raises(ValueError):
        module.func_graph_from_py_func(fails)
    clock[0] += 5

    assert (compilations.last, compilations.seconds, compilations.count) == (
        103.0,
        3.0,
        1,
    )


def test_tracings_of_two_threads_are_two(
    clock: list[float], module: SimpleNamespace
) -> None:
    """The second takes one second inside of the first one's three."""

    def first() -> None:
        clock[0] += 1
        thread = Thread(target=module.func_graph_from_py_func, args=(second,))
        thread.start()
        thread.join()
        assert compilations.count == 1
        clock[0] += 1

    def second() -> None:
        clock[0] += 1

    compilations = Compilations()
    compilations.watch("tensorflow")
    module.func_graph_from_py_func(first)

    assert (compilations.seconds, compilations.count) == (4.0, 2)


def test_a_program_of_jax_counts_once_and_each_of_its_parts_is_the_last(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    listeners: list[Callable[..., None]] = []
    monitoring = SimpleNamespace(register_event_duration_secs_listener=listeners.append)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(monitoring=monitoring))  # type: ignore[arg-type]
    compilations = Compilations()
    compilations.watch("jax")

    for part, seconds in (
        ("jaxpr_trace", 2.0),
        ("jaxpr_to_mlir_module", 0.5),
        ("backend_compile", 4.0),
    ):
        clock[0] += seconds
        listeners[0](f"/jax/core/compile/{part}_duration", seconds, fun_name="step")
    listeners[0]("/jax/checkpoint/write_duration", 9.0)
    clock[0] += 1

    assert (compilations.last, compilations.seconds, compilations.count) == (
        106.5,
        6.5,
        1,
    )


def test_before_the_first_there_is_no_time() -> None:
    assert (Compilations().last, Compilations().seconds) == (None, 0.0)


@pytest.mark.parametrize(
    ("backends", "looks", "count"), [({}, 0, 0), ({"cpu": object()}, 1, 1)]
)
def test_frames_of_other_threads_are_looked_at_only_once_jax_has_a_device(
    monkeypatch: pytest.MonkeyPatch, backends: dict[str, object], looks: int, count: int
) -> None:
    """Before that nothing compiles, and in a program of TensorFlow that Keras makes
    import JAX nothing ever does.
    """
    asked: list[bool] = []
    monkeypatch.setattr(compilations, "_under_way", lambda: asked.append(True))
    monkeypatch.setitem(
        sys.modules, "jax._src.xla_bridge", SimpleNamespace(_backends=backends)
    )  # type: ignore[arg-type]
    counted = Compilations()
    counted._watched.update(("jax", "tensorflow"))

    counted.look()

    assert (len(asked), counted.count) == (looks, count)
