"""A process that sleeps and works, and what is counted of its sleep."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from tfadvisor.act.record.sleeping import Sleeps

PROGRAM = """
import time
for _ in range(2):
    until = time.process_time() + 0.15
    while time.process_time() < until:
        pass
    time.sleep(0.4)
until = time.process_time() + 0.15
while time.process_time() < until:
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts how long threads ran")
@pytest.mark.parametrize("launcher", [[], ["sh", "-c", 'true; "$@"; true', "sh"]])
def test_each_long_sleep_is_one_and_work_is_none(launcher: list[str]) -> None:
    """Two of 0.4 s, by the program itself or by one that a shell starts, which sleeps
    all the time. A look that comes late, on a busy machine, misses the start of one.
    """
    over = threading.Event()
    with subprocess.Popen([*launcher, sys.executable, "-c", PROGRAM]) as program:
        sleeps = Sleeps(program.pid)
        follows = threading.Thread(target=sleeps.follow, args=(over,))
        follows.start()
        program.wait()
        over.set()
        follows.join()
    lengths = [
        (end - begin) / 1e9 for found in sleeps.found.values() for begin, end in found
    ]

    assert len([length for length in lengths if 0.3 <= length < 0.9]) == 2
