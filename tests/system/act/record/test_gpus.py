"""GPUs, through a program that is called nvidia-smi."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tfadvisor.act.record.gpus import GpuWatch, asked_once
from tfadvisor.trace.counters import MachineGpu

SMI = (
    "NVIDIA H100 80GB HBM3, 550.54.15, 97, 1755, 1980, 650.00, 700.00, "
    "0x0000000000000048"
)


def smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_nvidia_smi_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi(
        tmp_path,
        monkeypatch,
        f'echo "{SMI}"; echo "NVIDIA T4, 550.54.15, [N/A], 585, 1590, [N/A], 70.00, '
        '[N/A]"',
    )

    with GpuWatch() as watch:
        pass

    first, second = (msgspec.convert(one, MachineGpu) for one in watch.found)
    assert first == MachineGpu(
        "NVIDIA H100 80GB HBM3",
        "550.54.15",
        0.97,
        1755,
        1980,
        650,
        700,
        ("hardware slowdown", "heat"),
    )
    assert second == MachineGpu("NVIDIA T4", "550.54.15", None, 585, 1590, None, 70, ())


@pytest.mark.parametrize(
    "script", ["exit 9", "echo no devices were found; exit 6", "echo", "exec sleep 30"]
)
def test_nvidia_smi_that_fails_or_hangs_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    smi(tmp_path, monkeypatch, script)
    monkeypatch.setattr("tfadvisor.act.record.gpus._PATIENCE_SECONDS", 0.5)

    assert asked_once() == []


def test_without_it_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with GpuWatch() as watch:
        pass

    assert watch.found == []
