"""What it costs to say what takes the time: counted, not timed."""

from __future__ import annotations

import runpy
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tfadvisor.timeline import host_build as stages
from tfadvisor.timeline.attribution.activities import activities
from tfadvisor.timeline.host_build import SELECTION, build_host
from tfadvisor.trace.decode import decode_file

pytest.importorskip("tfadvisor.timeline._walks")  # its twin takes twice as much
pytestmark = pytest.mark.perf

BUILD = Path(__file__).parents[4] / "benchmarks" / "build_gpu_plane.py"
MOST_BYTES_AN_EVENT = 60


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    trace = runpy.run_path(str(BUILD))["trace"]

    def write(kernels: int) -> Path:
        file = tmp_path_factory.mktemp("built") / "host.xplane.pb"
        file.write_bytes(trace(kernels))
        return file

    return write


def counted(
    monkeypatch: pytest.MonkeyPatch, file: Path
) -> tuple[dict[str, int], int, int]:
    """(calls of functions inside of attribution and in all; the most bytes that
    attribution holds at once; the events).
    """
    trace = decode_file(file, SELECTION)
    events = len(trace.events)
    calls = {"inside": 0, "all": 0}
    peak = 0
    inside = False

    def count(_frame: Any, event: str, _what: Any) -> None:
        if event in ("call", "c_call"):
            calls["all"] += 1
            calls["inside"] += inside

    def watched(*arguments: Any, **named: Any) -> Any:
        nonlocal inside, peak
        tracemalloc.start()
        inside = True
        found = activities(*arguments, **named)
        inside = False
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    monkeypatch.setattr(stages, "activities", watched)
    sys.setprofile(count)
    try:
        build_host(trace)
    finally:
        sys.setprofile(None)
    return calls, peak, events


def test_attribution_holds_no_column_an_event_and_loops_over_none(
    monkeypatch: pytest.MonkeyPatch, built: Callable[[int], Path]
) -> None:
    """Twice the kernels and launches: at most 60 bytes each at once, and hardly a call
    more; at most a third of a timeline's calls are attribution's.
    """
    counted(monkeypatch, built(4_000))  # what is imported and asked once
    few, _, _ = counted(monkeypatch, built(40_000))
    calls, peak, events = counted(monkeypatch, built(80_000))

    assert events == 2 * 80_000 + 20
    assert peak <= MOST_BYTES_AN_EVENT * events
    assert calls["inside"] <= 1.05 * few["inside"]
    assert calls["inside"] <= calls["all"] / 3
