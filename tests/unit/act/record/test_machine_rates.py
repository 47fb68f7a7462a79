"""What this machine can do, measured beside a recording."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tfadvisor.act.record import machine_rates
from tfadvisor.act.record.machine_rates import add_rates, measured_rates
from tfadvisor.trace.counters import MachineRates, read_counters

LETTER = {"version": 1, "opened": {"time": 50.0}, "closed": {"time": 51.0}}
RATES = MachineRates(20e9, 100e9)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds that take microseconds."""
    monkeypatch.setattr(machine_rates, "_SECONDS", 0.0)
    monkeypatch.setattr(machine_rates, "_LARGE", 1 << 20)
    monkeypatch.setattr(machine_rates, "_SIDE", 8)


def test_rates_lie_beside_each_host_with_all_that_did_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_rates, "measured_rates", lambda cores: RATES)
    for host in ("one", "two"):
        (tmp_path / f"{host}.machine.json").write_text(json.dumps(LETTER))

    assert add_rates(tmp_path)
    for host in ("one", "two"):
        counted = read_counters(tmp_path / f"{host}.xplane.pb", host).counted
        assert counted is not None
        assert (counted.rates, counted.seconds) == (RATES, 1.0)


def test_without_counters_nothing_is_measured(tmp_path: Path) -> None:
    assert not add_rates(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_quota_leaves_fewer_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight may be used, and the time of one and a half."""
    asked = []
    monkeypatch.setattr(machine_rates, "measured_rates", asked.append)
    settings = {"allowed_cores": 8, "quota_cores": 1.5}
    letter = json.dumps({**LETTER, "settings": settings})
    (tmp_path / "one.machine.json").write_text(letter)

    assert not add_rates(tmp_path)
    assert asked == [1.5]


@pytest.mark.usefixtures("short")
def test_a_round_without_its_cores_tells_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process gets no time at all of the two cores."""
    monkeypatch.setattr(time, "process_time", lambda: 0.0)

    assert measured_rates(2.0) is None


@pytest.mark.usefixtures("short")
def test_a_round_with_its_cores_gives_both_rates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "process_time", lambda: 2.0 * time.perf_counter())
    found = measured_rates(2.0)

    assert found is not None
    assert found.bytes_per_s > 0
    assert found.fp32_flops > 0


@pytest.mark.usefixtures("short")
def test_each_core_multiplies_though_the_library_has_one_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both threads are inside of a product at once: each waits for the other there."""
    both = threading.Barrier(2, timeout=20)
    monkeypatch.setattr(time, "process_time", lambda: 2.0 * time.perf_counter())
    monkeypatch.setattr(np, "matmul", lambda *_, **__: both.wait())

    found = measured_rates(2.0)

    assert found is not None
    assert found.fp32_flops > 0
