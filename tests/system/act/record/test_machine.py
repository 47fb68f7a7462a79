"""What the hook counts and stores: on files of Linux as they are written, and of this
process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import pytest

from tfadvisor.act.record.injected.tfadvisor_hook import machine_counters as machine
from tfadvisor.trace.counters import VERSION, CounterReading, MachineSettings

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="Linux tells these things in /proc"
)
STAT = "cpu  100 20 30 400 50 6 4 90 0 0\ncpu0 50 10 15 200 25 3 2 45 0 0\n"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch):
    """Files that the hook reads instead of the system's, and no other."""
    files: dict[str, str] = {}

    def read(file: str) -> str:
        if file not in files:
            raise FileNotFoundError(file)
        return files[file]

    monkeypatch.setattr(machine, "_text", read)
    monkeypatch.setattr(machine.os.path, "exists", lambda file: file in files)
    monkeypatch.setattr(machine, "_ticks", lambda: 100)
    return files


def test_the_versions_are_one() -> None:
    assert machine.VERSION == VERSION


def test_cores_are_busy_idle_waiting_for_storage_or_stolen(
    told: dict[str, str],
) -> None:
    """In hundredths of a second: 100 + 20 + 30 + 6 + 4 are busy."""
    told["/proc/stat"] = STAT

    assert machine._cores() == {
        "busy_seconds": pytest.approx(1.6),
        "idle_seconds": 4.0,
        "iowait_seconds": 0.5,
        "stolen_seconds": 0.9,
    }


@pytest.mark.parametrize(
    ("groups", "files", "cores", "counted"),
    [
        (
            "0::/a/b\n",
            {
                "/a/b/cpu.max": "max 100000",
                "/a/cpu.max": "250000 100000",
                "/a/cpu.stat": "nr_periods 8\nnr_throttled 6\n",
            },
            {"quota_cores": 2.5},
            {"periods": 8, "throttled_periods": 6},
        ),
        (
            "4:cpu,cpuacct:/docker/x\n0::/\n",
            {
                "/cpu,cpuacct/docker/x/cpu.cfs_quota_us": "50000\n",
                "/cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000\n",
                "/cpu,cpuacct/docker/x/cpu.stat": "nr_periods 3\nnr_throttled 1\nthrottled_time 9\n",
            },
            {"quota_cores": 0.5},
            {"periods": 3, "throttled_periods": 1},
        ),
        (
            "1:cpu:/\n0::/\n",
            {"/cpu/cpu.cfs_quota_us": "-1", "/cpu/cpu.cfs_period_us": "100000"},
            {},
            {},
        ),
        ("0::/a\n", {}, {}, {}),
    ],
    ids=["version 2", "version 1", "without a limit", "hidden"],
)
def test_quotas_of_both_versions_of_control_groups(
    told: dict[str, str],
    groups: str,
    files: dict[str, str],
    cores: dict[str, float],
    counted: dict[str, int],
) -> None:
    told["/proc/self/cgroup"] = groups
    told.update({f"/sys/fs/cgroup{name}": text for name, text in files.items()})

    assert machine._quota() == cores
    assert machine._quota_counters() == counted


def test_what_a_system_does_not_tell_is_left_out(told: dict[str, str]) -> None:
    found = machine.reading()

    assert "busy_seconds" not in found
    assert "available_bytes" not in found
    assert found["time"] > 0
    assert "quota_cores" not in machine.settings()


def test_only_variables_of_the_frameworks_are_stored_cut_and_without_secrets() -> None:
    stored = machine.variables(
        {
            "XLA_FLAGS": "--xla_dump_to=/tmp/x",
            "OMP_NUM_THREADS": "4",
            "TF_CONFIG": "x" * 5000,
            "HOME": "/home/me",
            "AWS_SECRET_ACCESS_KEY": "s3cret",
            "TF_API_TOKEN": "s3cret",
            "JAX_COORDINATOR_PASSWORD": "s3cret",
            "TF_VAR_database": "s3cret",
            "CUDA_VISIBLE_DEVICES": "0",
            "MY_TF_FLAG": "1",
        }
    )

    assert stored == {
        "XLA_FLAGS": "--xla_dump_to=/tmp/x",
        "OMP_NUM_THREADS": "4",
        "TF_CONFIG": "x" * 400,
        "CUDA_VISIBLE_DEVICES": "0",
    }
    assert len(machine.variables({f"TF_{at:03}": "" for at in range(200)})) == 64


def test_of_this_process() -> None:
    before, after = machine.reading(), machine.reading()
    settings = msgspec.convert(machine.settings(), MachineSettings)

    assert after["busy_seconds"] >= before["busy_seconds"]
    assert msgspec.convert(after, CounterReading).available_bytes > 1 << 20
    assert settings.cores == os.cpu_count()
    assert settings.versions["python"] == ".".join(map(str, sys.version_info[:3]))
