"""How tfadvisor grows: one large GPU, one large CPU trace, many hosts; in turns with an
older tfadvisor and with XProf.

    python benchmarks/scale.py --data FOLDER [--base BIN/tfadvisor] [--xprof BIN/xprof]
    [--runs N] [--only NAME …]

Traces are built (build_gpu_plane.py, build_hosts.py) or recorded (record_large.py,
which needs TensorFlow in --recorder) on the first call and kept in --data. --base: the
command of another installation, to compare with. CPU seconds are user and system time
of the process and its children, memory is the largest resident size of one of them;
medians are printed. Every run of many hosts must name the planted late host, or the row
says that it did not. Of those with eight GPUs a host, one file is cut and one is of
another run besides. Each command runs once before it is measured, so that Python has
compiled it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import build_gpu_hosts
from build_gpu_plane import trace
from build_hosts import build, name_of

HERE = Path(__file__).parent
MB = 1_000_000
GPU, CPU = ("gpu-500k", "gpu-5m"), ("cpu-40mb", "cpu-440mb")
KERNELS = {"gpu-500k": 500_000, "gpu-5m": 5_000_000}
STEPS = {"cpu-40mb": 570, "cpu-440mb": 5_670}
COUNT = {"hosts-100": 100, "hosts-1000": 1_000}
MORE = {
    "hosts-4000": 4_000,
    "gpu-hosts-100": 100,
    "gpu-hosts-1000": 1_000,
    "gpu-hosts-4000": 4_000,
}
HOSTS = {**COUNT, **MORE}
NOT_FOR_XPROF = ("gpu-5m", "cpu-440mb", *MORE)
"""Too large for it, or a file among them is cut."""


class Run(NamedTuple):
    cpu_s: float
    peak_mb: float
    text: str


def main() -> None:
    options = arguments()
    print(
        "| trace | tfadvisor | before | ratio of CPU, memory | XProf | ratio of CPU, "
        "memory |\n|---|---|---|---|---|---|"
    )
    for name in options.only:
        print(row(name, options), flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--xprof", type=Path)
    parser.add_argument(
        "--recorder",
        type=Path,
        default=Path(sys.executable),
        help="a Python with TensorFlow",
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--only", nargs="+", default=[*GPU, *CPU, *COUNT], choices=[*GPU, *CPU, *HOSTS]
    )
    return parser.parse_args()


def row(name: str, options: argparse.Namespace) -> str:
    folder = made(name, options)
    commands = {"ours": [Path(sys.executable).parent / "tfadvisor", "analyze", folder]}
    if options.base:
        commands["base"] = [options.base, "analyze", folder]
    if options.xprof and name not in NOT_FOR_XPROF:
        commands["xprof"] = [
            options.xprof,
            "get_overview",
            f"--session_id={name}",
            f"--logdir={options.data}",
        ]
    runs: dict[str, list[Run]] = {key: [] for key in commands}
    for command in commands.values():
        run(command)
    for _ in range(options.runs):
        for key, command in commands.items():
            forget_caches(folder)
            runs[key].append(run(command))
            forget_caches(folder)
    middle = {key: median(found) for key, found in runs.items()}
    late = (
        ""
        if name not in HOSTS or name_of(HOSTS[name] // 2) in middle["ours"].text
        else ", late host NOT named"
    )
    each = (
        f", {middle['ours'].cpu_s / HOSTS[name] * 1e3:.1f} ms a host"
        if name in HOSTS
        else ""
    )
    cells = [f"{name}{late}", told(middle["ours"]) + each]
    for key in ("base", "xprof"):
        cells += (
            [told(middle[key]), ratio(middle[key], middle["ours"])]
            if key in middle
            else ["–", "–"]
        )
    return "| " + " | ".join(cells) + " |"


def made(name: str, options: argparse.Namespace) -> Path:
    """The run's folder, laid out as a logdir of XProf."""
    folder: Path = options.data / "plugins" / "profile" / name
    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    if name in GPU:
        (folder / "host.xplane.pb").write_bytes(trace(KERNELS[name]))
    elif name in CPU:
        record = [
            options.recorder,
            HERE / "record_large.py",
            folder / "host.xplane.pb",
            str(STEPS[name]),
        ]
        subprocess.run(record, check=True, stderr=subprocess.DEVNULL)
    else:
        (build_gpu_hosts.build if name.startswith("gpu") else build)(
            folder, HOSTS[name]
        )
    return folder


def forget_caches(folder: Path) -> None:
    for path in folder.iterdir():
        if not path.name.endswith(".xplane.pb"):
            path.unlink()
    for path in Path(tempfile.gettempdir()).glob("xprof*cache*"):
        shutil.rmtree(path, ignore_errors=True)


def run(command: list[object]) -> Run:
    with tempfile.TemporaryFile("w+") as out:
        compiling = {
            key: value
            for key, value in os.environ.items()
            if key != "PYTHONDONTWRITEBYTECODE"
        }
        process = subprocess.Popen(
            [str(part) for part in command],
            stdout=out,
            stderr=subprocess.DEVNULL,
            env=compiling,
        )
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(
                f"{command[0]} failed with {os.waitstatus_to_exitcode(status)}"
            )
        out.seek(0)
        return Run(
            usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / MB, out.read()
        )


def median(runs: list[Run]) -> Run:
    cpu, peak = (statistics.median(one[column] for one in runs) for column in (0, 1))
    return Run(float(cpu), float(peak), runs[0].text)


def told(one: Run) -> str:
    return f"{one.cpu_s:.2f} s, {one.peak_mb:,.0f} MB"


def ratio(other: Run, ours: Run) -> str:
    return f"{other.cpu_s / ours.cpu_s:.1f}, {other.peak_mb / ours.peak_mb:.1f}"


if __name__ == "__main__":
    main()
