"""tfadvisor analyze beside XProf's overview on the same files, in turns, cold; and what
both cost as files grow.

    pip install '.[record,tensorboard]'
    python benchmarks/against_xprof.py [--runs 5] [--xprof-up-to 100]
    [--sizes 0.2 2 40] [--base OLD/bin/tfadvisor]

Cold means: XProf's caches beside the trace and in the temporary folder are deleted
before each of its runs. Both commands run as a user runs them, in processes of their
own; processor time (user and system), time by the clock and peak memory are the
kernel's. Traces are recorded on the first call and kept in benchmarks/data. Medians are
printed, and the ratios to tfadvisor. --base: the command of another installation, in
turns with the two.
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

from tfadvisor.timeline.host_build import SELECTION
from tfadvisor.trace.decode import decode_file

HERE = Path(__file__).parent
DATA = HERE / "data"
BYTES_A_STEP = 70_600
MB = 1_000_000


@dataclass(frozen=True)
class Run:
    cpu_s: float
    seconds: float
    peak_mb: float

    def __str__(self) -> str:
        return f"{self.cpu_s:.3f} s, {self.seconds:.3f} s, {self.peak_mb:,.0f} MB"

    def ratios(self, ours: Run) -> str:
        """Of processor time, time by the clock and memory."""
        return (
            f"{self.cpu_s / ours.cpu_s:.1f}, {self.seconds / ours.seconds:.1f}, "
            f"{self.peak_mb / ours.peak_mb:.1f}"
        )


def main() -> None:
    options = arguments()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, NumPy {np.__version__}\n"
    )
    print("processor, clock, memory\n")
    print("| file | events | tfadvisor | XProf | ratios | before | ratios |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for size in options.sizes:
        trace = trace_of(size)
        events = len(decode_file(trace, SELECTION).events)
        rows.append((trace, events))
        found = in_turns(trace, options, with_xprof=size <= options.xprof_up_to)
        print(line(trace, events, found), flush=True)
    print(
        "\nfloor: interpreter and NumPy",
        f"{median([run([sys.executable, '-c', 'import numpy']) for _ in range(5)]).seconds:.3f} "
        "s",
    )
    print("\ndecoding alone, warm, beside a memcpy of the file")
    for trace, events in rows:
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
        "--sizes", type=float, nargs="+", default=[0.2, 2, 40], metavar="MB"
    )
    parser.add_argument("--base", type=Path)
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


def in_turns(
    trace: Path, options: argparse.Namespace, *, with_xprof: bool
) -> dict[str, Run]:
    command = Path(sys.executable).parent
    commands = {"ours": [command / "tfadvisor", "analyze", trace]}
    if with_xprof:
        session = f"--session_id={trace.parent.name}"
        overview = ["get_overview", session, f"--logdir={DATA}"]
        commands["xprof"] = [command / "xprof", *overview]
    if options.base:
        commands["base"] = [options.base, "analyze", trace]
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(options.runs):
        for name, words in commands.items():
            forget_caches(trace)
            runs[name].append(run(words))
            forget_caches(trace)
    return {name: median(found) for name, found in runs.items()}


def forget_caches(trace: Path) -> None:
    for path in trace.parent.iterdir():
        if path != trace:
            path.unlink()
    for path in Path(tempfile.gettempdir()).glob("xprof*cache*"):
        shutil.rmtree(path, ignore_errors=True)


def run(command: list[object]) -> Run:
    """One process from start to end."""
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
    cpu_s = usage.ru_utime + usage.ru_stime
    return Run(cpu_s, seconds, usage.ru_maxrss * 1024 / MB)


def median(runs: list[Run]) -> Run:
    return Run(
        statistics.median(one.cpu_s for one in runs),
        statistics.median(one.seconds for one in runs),
        statistics.median(one.peak_mb for one in runs),
    )


def line(trace: Path, events: int, found: dict[str, Run]) -> str:
    ours = found["ours"]
    cells = [f"{trace.stat().st_size / MB:.1f} MB", f"{events:,}", str(ours)]
    for name in ("xprof", "base"):
        other = found.get(name)
        cells += [str(other), other.ratios(ours)] if other else ["–", "–"]
    return "| " + " | ".join(cells) + " |"


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
