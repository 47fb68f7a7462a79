"""Time of cores of all processes of a program."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tfadvisor.act.record.program_times import ProgramTimes, program_seconds

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="Linux tells these things in /proc"
)


def test_a_program_is_all_that_descends_from_its_root_or_is_in_its_group(
    tmp_path: Path,
) -> None:
    """Ticks of (user, system, and both of children that ended): the root 1 + 1, its
    grandchild 10, one of its group 5; a stranger, whose name holds a bracket and
    spaces, has 1,000.
    """

    def line(pid: int, name: str, parent: int, group: int, ticks: str) -> None:
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(
            f"{pid} ({name}) S {parent} {group} 1 0 -1 0 0 0 0 0 {ticks} 20 0 1"
        )

    line(1, "init", 0, 1, "500 0 0 0")
    line(10, "sh", 1, 10, "1 1 0 0")
    line(11, "python", 10, 11, "0 0 0 0")
    line(12, "python", 11, 12, "3 3 2 2")
    line(13, "sh", 1, 10, "5 0 0 0")
    line(14, "x) R 10 10 1", 1, 14, "1000 0 0 0")
    a_second = os.sysconf("SC_CLK_TCK")

    assert program_seconds(10, tmp_path) == pytest.approx(17 / a_second)
    assert program_seconds(11, tmp_path) == pytest.approx(10 / a_second)


def test_a_child_that_computes_for_half_a_second_counts() -> None:
    """Whatever else runs here."""
    burn = (
        "import time; end = time.process_time() + 0.5\nwhile time.process_time() < "
        "end: pass"
    )
    with ProgramTimes(os.getpid()) as times:
        time.sleep(0.3)
        opened = time.time()
        subprocess.run([sys.executable, "-c", burn], check=True)
        closed = time.time()
        time.sleep(0.3)

    counted = {"opened": {"time": opened}, "closed": {"time": closed}}
    times.add_to(counted)
    spent = counted["closed"]["program_seconds"] - counted["opened"]["program_seconds"]
    assert spent >= 0.35
