"""Does anything stay when an analysis is killed at any moment? Kills so many, and counts processes and files that are left.

python benchmarks/kill_at_random.py [TIMES]     200 by default, of a run of five hosts and of the tab
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from robustness.test_tab_limits import ASKS
from support.logdirs import add_run
from support.processes import IN_PROCESSES, marked
from support.trace_builder import trace

_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def main(arguments: Sequence[str]) -> int:
    """1 when anything was left."""
    times = int(arguments[0]) if arguments else 200
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run = five_hosts(folder / "run")
        (folder / "out").mkdir()
        for number in range(3):
            add_run(folder / "logdir", f"run-{number}")
        command = [sys.executable, "-c", IN_PROCESSES, "analyze", run, "-o", folder / "out" / "report.html"]
        tab = [sys.executable, "-c", ASKS, folder / "logdir", folder / "cache"]
        left = killed(command, times, _SIGNALS, folder / "out")
        left += killed(tab, times, (signal.SIGKILL,), None)
    print(f"{times} runs of five hosts and {times} of the tab killed: {left} processes or files left")
    return 1 if left else 0


def five_hosts(folder: Path) -> Path:
    """0.5 s of analysis."""
    builder = trace()
    for number in range(5):
        builder.host(f"host-{number}").steps(300, period=100)
        for at in range(0, 30_000, 10):
            builder.kernel("GPU:0", "gemm", at + 2, at + 9, launched=(at, at + 1))
    return builder.write(folder)


def killed(call: Sequence[object], times: int, signals: Sequence[signal.Signals], folder: Path | None) -> int:
    """How many processes, and files but the report, were left."""
    chance, left = random.Random(1), 0
    for _ in range(times):
        with marked() as group:
            process = group.start(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 1.3))
            process.send_signal(chance.choice(signals))
            process.wait(20)
            left += len(group.left())
        if folder is not None:
            left += len([one for one in folder.iterdir() if one.name != "report.html"])
            for one in folder.iterdir():
                one.unlink()
    return left


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
