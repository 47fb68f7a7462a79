"""How many calls of Python a trace holds, and what its other events cost."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from support.places import FIXTURES
from support.trace_builder import trace

import tfadvisor
from tfadvisor.act.record.conduct import calls_traced, cost_without_calls


def test_calls_of_python_are_events_that_begin_with_a_dollar(tmp_path: Path) -> None:
    packed = (FIXTURES / "jax-loader" / "trace.xplane.pb.gz").read_bytes()
    (tmp_path / "h.xplane.pb").write_bytes(gzip.decompress(packed))
    names = tfadvisor.open(tmp_path / "h.xplane.pb").events()["name"]

    assert calls_traced(tmp_path) == sum(name.startswith("$") for name in names) > 1000


def test_a_folder_without_a_trace_holds_none(tmp_path: Path) -> None:
    assert calls_traced(tmp_path) == 0


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

    assert cost_without_calls(tmp_path, 1e-4) == pytest.approx(9 / 91)
    assert calls_traced(tmp_path) == 10
