"""GPUs, through a module that is called pynvml and a program that is called nvidia-smi."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tfadvisor.act.record.gpus import GpuWatch, asked_once, together
from tfadvisor.trace.counters import Gpu

EVER = (0.0, float("inf"))
SMI = "NVIDIA H100 80GB HBM3, 550.54.15, Enabled, 97, 1755, 1980, 650.00, 700.00, 0x0000000000000048"


class NotSupported(Exception):
    """As NVMLError."""


def refuse(_handle: object) -> object:
    raise NotSupported


def nvml(**instead: Any) -> SimpleNamespace:
    """As the module is, for two GPUs."""
    answers: dict[str, Any] = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda at: at,
        "nvmlDeviceGetName": lambda at: f"GPU {at}".encode(),
        "nvmlSystemGetDriverVersion": lambda: "550.54",
        "nvmlDeviceGetPersistenceMode": lambda _at: 1,
        "nvmlDeviceGetUtilizationRates": lambda at: SimpleNamespace(gpu=40 + at),
        "NVML_CLOCK_SM": 1,
        "nvmlDeviceGetClockInfo": lambda _at, _kind: 1500,
        "nvmlDeviceGetMaxClockInfo": lambda _at, _kind: 2000,
        "nvmlDeviceGetEnforcedPowerLimit": lambda _at: 300_000,
        "nvmlDeviceGetPowerManagementDefaultLimit": refuse,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda at: 0x40 if at else 0x4,
    }
    return SimpleNamespace(**{**answers, **instead})


@pytest.fixture
def no_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)


def smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_nvml_is_asked_for_each_gpu_and_what_it_does_not_know_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A power limit that is reached (0x4) is usual, heat (0x40) is not."""
    monkeypatch.setitem(sys.modules, "pynvml", nvml())

    with GpuWatch() as watch:
        time.sleep(0.05)

    first, second = (msgspec.convert(one, Gpu) for one in watch.told(*EVER))
    assert first == Gpu("GPU 0", "550.54", True, 0.4, 1500, 2000, 300, None, ())
    assert second.slowed_by == ("heat",)
    assert second.utilization == 0.41


@pytest.mark.parametrize(
    "instead", [{"nvmlInit": None}, {"nvmlDeviceGetCount": None}, {"nvmlDeviceGetHandleByIndex": None}]
)
def test_a_driver_that_fails_costs_nothing_but_the_answer(
    monkeypatch: pytest.MonkeyPatch, instead: dict[str, Any]
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml(**instead))
    monkeypatch.setenv("PATH", "")

    with GpuWatch() as watch:
        pass

    assert watch.told(*EVER) == []


def test_without_nvml_nvidia_smi_is_asked_once(no_nvml: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi(
        tmp_path,
        monkeypatch,
        f'echo "{SMI}"; echo "NVIDIA T4, 550.54.15, Disabled, [N/A], 585, 1590, [N/A], 70.00, [N/A]"',
    )

    with GpuWatch() as watch:
        pass

    first, second = (msgspec.convert(one, Gpu) for one in watch.told(*EVER))
    assert first == Gpu(
        "NVIDIA H100 80GB HBM3", "550.54.15", True, 0.97, 1755, 1980, 650, 700, ("hardware slowdown", "heat")
    )
    assert second == Gpu("NVIDIA T4", "550.54.15", False, None, 585, 1590, None, 70, ())


@pytest.mark.parametrize("script", ["exit 9", "echo no devices were found; exit 6", "echo", "exec sleep 30"])
def test_nvidia_smi_that_fails_or_hangs_is_given_up(
    no_nvml: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    smi(tmp_path, monkeypatch, script)
    monkeypatch.setattr("tfadvisor.act.record.gpus._PATIENCE_SECONDS", 0.5)

    assert asked_once() == []


def test_without_either_nothing_is_told(no_nvml: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with GpuWatch() as watch:
        pass

    assert watch.told(*EVER) == []


def test_looks_become_means_and_every_reason_that_was_seen() -> None:
    looks = [
        [{"name": "A", "utilization": 0.2, "slowed_by": []}],
        [{"name": "A", "utilization": 0.8, "clock_mhz": 900.0, "slowed_by": ["heat"]}],
    ]

    assert together(looks) == [{"name": "A", "utilization": 0.5, "clock_mhz": 900.0, "slowed_by": ["heat"]}]


def test_only_looks_inside_of_the_window_count() -> None:
    watch = GpuWatch()
    watch._looks += [(at, [{"name": "A", "utilization": share}]) for at, share in ((1.0, 0.0), (2.0, 0.9), (3.0, 0.0))]

    assert watch.told(1.5, 2.5) == [{"name": "A", "utilization": 0.9, "slowed_by": []}]
    assert watch.told(7, 8)[0]["utilization"] == pytest.approx(0.3)
