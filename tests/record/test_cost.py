"""How many calls of Python a trace holds."""

from __future__ import annotations

import gzip
from pathlib import Path

from support.places import FIXTURES

import tfadvisor
from tfadvisor.record.cost import calls_traced


def test_calls_of_python_are_events_that_begin_with_a_dollar(tmp_path: Path) -> None:
    packed = (FIXTURES / "jax-loader" / "trace.xplane.pb.gz").read_bytes()
    (tmp_path / "h.xplane.pb").write_bytes(gzip.decompress(packed))
    names = tfadvisor.open(tmp_path / "h.xplane.pb").events()["name"]

    assert calls_traced(tmp_path) == sum(name.startswith("$") for name in names) > 1000


def test_a_folder_without_a_trace_holds_none(tmp_path: Path) -> None:
    assert calls_traced(tmp_path) == 0
