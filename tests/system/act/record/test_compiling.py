"""What the recorded process tells of compilations, on a clock of its own in seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tfadvisor.act.record.injected.tfadvisor_hook import compilations
from tfadvisor.act.record.injected.tfadvisor_hook.compilations import Compilations

COUNTER = "tensorflow.python.eager.polymorphic_function.tracing_compilation"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(compilations, "time", SimpleNamespace(time=lambda: now[0]))
    return now


def test_tensorflows_own_counter_tells_how_long_it_traced(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two seconds before the first question, nothing before the second, three before
    the third.
    """
    traced_us = [0]
    cell = SimpleNamespace(value=lambda: traced_us[0])
    counter = SimpleNamespace(get_cell=lambda: cell)
    module = SimpleNamespace(_graph_building_time_counter=counter)
    monkeypatch.setitem(sys.modules, COUNTER, module)  # type: ignore[arg-type]
    counted = Compilations()
    counted.watch("tensorflow")
    assert (counted.last, counted.seconds, counted.count) == (None, 0.0, 0)

    traced_us[0], clock[0] = 2_000_000, 110.0
    assert (counted.last, counted.seconds, counted.count) == (110.0, 2.0, 1)
    clock[0] = 120.0
    assert (counted.last, counted.count) == (110.0, 1)
    traced_us[0] = 5_000_000
    assert (counted.last, counted.seconds, counted.of("tensorflow")) == (120.0, 5.0, 2)


def test_each_look_at_a_window_tells_what_tensorflow_traced_since(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three tracings, seen by looks between them: three, not the one that a single
    question behind the window would find.
    """
    traced_us = [0]
    cell = SimpleNamespace(value=lambda: traced_us[0])
    counter = SimpleNamespace(get_cell=lambda: cell)
    module = SimpleNamespace(_graph_building_time_counter=counter)
    monkeypatch.setitem(sys.modules, COUNTER, module)  # type: ignore[arg-type]
    counted = Compilations()
    counted.watch("tensorflow")

    for traced_us[0] in (1_000_000, 2_000_000, 3_000_000):
        counted.look()

    assert counted.count == 3


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


@pytest.mark.parametrize(("backends", "count"), [({}, 0), ({"cpu": object()}, 1)])
def test_a_device_of_jax_tells_that_it_compiled_before_it_was_watched(
    monkeypatch: pytest.MonkeyPatch, backends: dict[str, object], count: int
) -> None:
    """In a program of TensorFlow that Keras makes import JAX nothing ever does."""
    monkeypatch.setitem(
        sys.modules, "jax._src.xla_bridge", SimpleNamespace(_backends=backends)
    )  # type: ignore[arg-type]
    counted = Compilations()
    counted._watched.update(("jax", "tensorflow"))

    counted.look()

    assert counted.count == count
