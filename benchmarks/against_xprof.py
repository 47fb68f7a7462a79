"""tfadvisor analyze beside XProf's overview on the same files, in turns, cold; and what
both cost as files grow.

    pip install '.[record,tensorboard]' python benchmarks/against_xprof.py [--runs 5]
    [--xprof-up-to 100] [--sizes 0.2 2 20 40 400]

Cold means: XProf's caches beside the trace and in the temporary folder are deleted
before each of its runs. Both commands run as a user runs them, in processes of their
own; wall time and peak memory are the kernel's. Traces are recorded on the first call
and kept in benchmarks/data. Medians are printed, and the ratio XProf / tfadvisor.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfadvisor.timeline.build_host import SELECTION
from tfadvisor.trace.decode import decode_file

HERE = Path(__file__).parent
DATA = HERE / "data"
BYTES_A_STEP = 70_600
MB = 1_000_000


@dataclass(frozen=True)
class Run:
    seconds: float
    peak_mb: float


def main() -> None:
    options = arguments()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, NumPy {np.__version__}\n"
    )
    rows = []
    for size in options.sizes:
        trace = trace_of(size)
        events = len(decode_file(trace, SELECTION).events)
        ours, theirs = in_turns(
            trace, options.runs, with_xprof=size <= options.xprof_up_to
        )
        rows.append((trace, events, ours, theirs))
        print(line(trace, events, ours, theirs), flush=True)
    print(
        "\nfloor: interpreter and NumPy",
        f"{median([run([sys.executable, '-c', 'import numpy']) for _ in range(5)]).seconds:.3f} "
        "s",
    )
    print("\ndecoding alone, warm, beside a memcpy of the file")
    for trace, events, _, _ in rows:
        print(throughput(trace, events, options.runs), flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--xprof-up-to",
        type=float,
        default=100,
        metavar="MB",
        help="XProf needs 40 times the file in memory",
    )
    parser.add_argument(
        "--sizes", type=float, nargs="+", default=[0.2, 2, 20, 40, 400], metavar="MB"
    )
    return parser.parse_args()


def trace_of(size: float) -> Path:
    """A recorded trace of about this many MB, in a logdir of its own."""
    folder = DATA / "plugins" / "profile" / f"tf-{size:g}mb"
    path = folder / "host.xplane.pb"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        steps = max(3, round(size * MB / BYTES_A_STEP))
        subprocess.run(
            [sys.executable, HERE / "record_large.py", path, str(steps)],
            check=True,
            stderr=subprocess.DEVNULL,
        )
    return path


def in_turns(trace: Path, runs: int, *, with_xprof: bool) -> tuple[Run, Run | None]:
    ours, theirs = [], []
    command = Path(sys.executable).parent
    for _ in range(runs):
        ours.append(run([command / "tfadvisor", "analyze", trace]))
        if with_xprof:
            forget_caches(trace)
            overview = [
                command / "xprof",
                "get_overview",
                f"--session_id={trace.parent.name}",
                f"--logdir={DATA}",
            ]
            theirs.append(run(overview))
            forget_caches(trace)
    return median(ours), median(theirs) if theirs else None


def forget_caches(trace: Path) -> None:
    for path in trace.parent.iterdir():
        if path != trace:
            path.unlink()
    for path in Path(tempfile.gettempdir()).glob("xprof*cache*"):
        shutil.rmtree(path, ignore_errors=True)


def run(command: list[object]) -> Run:
    """One process from start to end: wall seconds and peak resident memory."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(
            f"{command[0]} failed with {os.waitstatus_to_exitcode(status)}"
        )
    return Run(seconds, usage.ru_maxrss * 1024 / MB)


def median(runs: list[Run]) -> Run:
    return Run(
        statistics.median(one.seconds for one in runs),
        statistics.median(one.peak_mb for one in runs),
    )


def line(trace: Path, events: int, ours: Run, theirs: Run | None) -> str:
    size = trace.stat().st_size / MB
    text = (
        f"{size:8.1f} MB {events:>12,} events   tfadvisor {ours.seconds:7.3f} s "
        f"{ours.peak_mb:7.0f} MB"
    )
    if theirs is None:
        return text + "   xprof not run"
    faster, leaner = theirs.seconds / ours.seconds, theirs.peak_mb / ours.peak_mb
    return (
        text + f"   xprof {theirs.seconds:7.3f} s {theirs.peak_mb:7.0f} MB   ratio "
        f"{faster:5.1f} time, {leaner:4.1f} memory"
    )


def throughput(trace: Path, events: int, runs: int) -> str:
    data = np.fromfile(trace, np.uint8)
    copies, decodes = [], []
    for _ in range(max(runs, 3)):
        start = time.perf_counter()
        data.copy()
        copies.append(time.perf_counter() - start)
        start = time.perf_counter()
        decode_file(trace, SELECTION)
        decodes.append(time.perf_counter() - start)
    copy, decode = statistics.median(copies), statistics.median(decodes)
    size = len(data) / MB
    return (
        f"{size:8.1f} MB   decode {size / decode:7.0f} MB/s, "
        f"{events / decode / 1e6:5.1f} M events/s"
        f"   memcpy {size / copy:7.0f} MB/s"
    )


if __name__ == "__main__":
    main()
