"""How many calls of Python a trace holds, and what its other events cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.places import FIXTURES
from support.trace_builder import trace

import tfadvisor
from tfadvisor.act.record.tracing_cost import cost_without_calls
from tfadvisor.act.record.window import RecordedWindow, read_window
from tfadvisor.analysis import Options, read_run
from tfadvisor.trace.runs import choose_run


def test_calls_of_python_are_events_that_begin_with_a_dollar() -> None:
    folder = FIXTURES / "jax-loader"
    names = tfadvisor.open(folder).events()["name"]

    (counts,) = read_run(choose_run([folder])[0], Options()).counts

    assert counts.python_calls == sum(name.startswith("$") for name in names) > 1000
    assert counts.every == len(names)


def test_events_of_the_host_cost_and_those_of_a_device_do_not(tmp_path: Path) -> None:
    """Ten ops and ten markers of steps in a window of 0.1 ms: 20 times 0.45 µs beside
    the 91 µs that are left.
    """
    builder = trace()
    for at in range(0, 100, 10):
        start = float(at)
        builder.step(start, start + 9).call("EagerExecute", start + 1, start + 2)
        builder.call("$train.py:1 step", start + 3, start + 4).busy(
            "/device:GPU:0", (start + 4, start + 5)
        )
    (tmp_path / "h.xplane.pb").write_bytes(builder.bytes())

    window = read_window(
        tmp_path, Options(), python_tracer=True, opened=0.0, closed=1e-4
    )

    assert isinstance(window, RecordedWindow)
    assert cost_without_calls(window) == pytest.approx(9 / 91)
    assert window.python_calls == 10
