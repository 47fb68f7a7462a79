"""Records the programs of the benchmark: each form once without the profiler, for its
step time, and then with it.

A recording is a folder `DATA/PROGRAM/FORM/NUMBER` with the traces, one for each host,
and `recording.json` with versions, the step time without the profiler, and how many
cores other processes took meanwhile. Programs run in a temporary folder on at most two
cores. A program of several hosts runs as one process for each, with invented host names
(see fixtures/record_hosts.py).
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "fixtures"))

from record_hosts import BECOME_HOST, OWN_NAMES  # noqa: E402
from sources import unpacked  # noqa: E402

PACKED = HERE / "programs.txt"
DATA = HERE.parent / "data" / "diagnosis"
PROGRAMS = DATA / "programs"
FORMS = ("healthy", "faulty")
PACKAGES = ("tensorflow", "tensorflow-cpu", "keras", "jax", "jaxlib", "numpy")
ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "PYTHONHASHSEED": "0",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "-1",
    "JAX_HLO_SOURCE_FILE_CANONICALIZATION_REGEX": ".*/",
    "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "1",
}
CORES = 2
PATIENCE_S = 90
ATTEMPTS = 4
CALM_CORES = 0.15
"""A recording counts as calm when other processes took fewer cores than this on
average.
"""


class RecordingError(Exception):
    """A program failed, hung or wrote no usable trace."""


def record(
    name: str, entry: dict[str, Any], form: str, number: int, patient: bool
) -> dict[str, Any]:
    """Records one form of one program. patient: waits for a calm machine, and tries
    again after a noisy recording.
    """
    target = DATA / name / form / str(number)
    best: dict[str, Any] | None = None
    for _ in range(ATTEMPTS if patient else 1):
        if patient:
            wait_for_calm()
        with tempfile.TemporaryDirectory() as place:
            about, traces = attempt(name, entry, form, Path(place))
            if best is None or noise_of(about) < noise_of(best):
                best = about
                keep(traces, about, target)
        if noise_of(best) < CALM_CORES:
            break
    assert best is not None
    return best


def attempt(
    name: str, entry: dict[str, Any], form: str, place: Path
) -> tuple[dict[str, Any], dict[str, Path]]:
    hosts = entry.get("hosts") or ["alpha"]
    options = ["--fault"] if form == "faulty" else []
    program = unpacked(PACKED, PROGRAMS) / f"{name}.py"
    (place / "timed").mkdir()
    (place / "traced").mkdir()
    timed = [str(HERE / "measure.py"), str(entry["steps"]), str(program)]
    printed, others_timed = with_others(
        lambda: run(timed, hosts, options, place / "timed")
    )
    begun = time.monotonic()
    _, others = with_others(
        lambda: run([str(program)], hosts, options, place / "traced")
    )
    about = {
        "step_ms": max(float(one.split()[-1]) for one in printed),
        "other_cores": None
        if others is None or others_timed is None
        else max(others, others_timed),
        "seconds": round(time.monotonic() - begun, 1),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {cores()} cores, no accelerator",
        "packages": {
            package: found for package in PACKAGES if (found := installed(package))
        },
    }
    return about, {
        host: only_trace(program, place / "traced" / f"logdir-{host}") for host in hosts
    }


def run(
    command: list[str], hosts: Sequence[str], options: list[str], place: Path
) -> list[str]:
    """Runs the command on every host at once and returns what each printed."""
    stay_on_few_cores()
    ports = free_ports(len(hosts))
    peers = ",".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=True))
    (place / "hosts").write_text(
        "".join(f"127.0.0.1 {name}\n" for name in ("localhost", *hosts))
    )
    running = []
    for rank, host in enumerate(hosts):
        several = len(hosts) > 1
        arguments = [
            f"logdir-{host}",
            *([peers, str(rank)] if several else []),
            *options,
        ]
        name_it = [*OWN_NAMES, BECOME_HOST, "sh", "hosts", host] if several else []
        running.append(
            subprocess.Popen(
                [*name_it, sys.executable, *command, *arguments],
                cwd=place,
                env={**os.environ, **ENVIRONMENT},
                stdout=(place / f"out-{host}").open("w"),
                stderr=(place / f"err-{host}").open("w"),
            )
        )
    ended = time.monotonic() + PATIENCE_S
    try:
        for process, host in zip(running, hosts, strict=True):
            if process.wait(max(0.1, ended - time.monotonic())):
                last = (
                    (place / f"err-{host}")
                    .read_text(errors="replace")
                    .strip()
                    .splitlines()[-8:]
                )
                raise RecordingError(
                    f"{Path(command[-1]).stem} {' '.join(options)} failed:\n"
                    + "\n".join(last)
                )
    except subprocess.TimeoutExpired:
        if not all(
            any(place.glob(f"logdir-{host}/**/*.xplane.pb")) for host in hosts
        ):  # else it hangs in its clean-up
            raise RecordingError(
                f"{Path(command[-1]).stem} {' '.join(options)} took too long"
            ) from None
    finally:
        for process in running:
            process.kill()
            process.wait()
    return [(place / f"out-{host}").read_text() for host in hosts]


def stay_on_few_cores() -> None:
    """This process and those that it starts; not on systems that cannot."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])


def cores() -> int:
    return (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )


def only_trace(program: Path, logdir: Path) -> Path:
    traces = sorted(logdir.rglob("*.xplane.pb"))
    if len(traces) != 1:
        raise RecordingError(f"{program.name} wrote {len(traces)} traces, expected one")
    return traces[0]


def keep(traces: dict[str, Path], about: dict[str, Any], target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for host, trace in traces.items():
        (target / f"{host}.xplane.pb.gz").write_bytes(
            gzip.compress(trace.read_bytes(), compresslevel=6, mtime=0)
        )
    (target / "recording.json").write_text(json.dumps(about, indent=2) + "\n")


def recorded(name: str, form: str) -> list[Path]:
    """The folders of this form's recordings, in order."""
    folders = [path.parent for path in (DATA / name / form).glob("*/recording.json")]
    return sorted(folders, key=lambda folder: int(folder.name))


def is_calm(name: str, form: str, number: int) -> bool:
    """Whether there is a recording that other processes left alone."""
    file = DATA / name / form / str(number) / "recording.json"
    return file.exists() and noise_of(json.loads(file.read_text())) < CALM_CORES


def with_others(work: Callable[[], Any]) -> tuple[Any, float | None]:
    """What the work returns, and how many cores other processes took meanwhile, on
    average (Linux only).
    """
    before, own, begun = busy_seconds(), own_seconds(), time.monotonic()
    result = work()
    after = busy_seconds()
    if before is None or after is None:
        return result, None
    others = (after - before - (own_seconds() - own)) / (time.monotonic() - begun)
    return result, round(max(0.0, others), 2)


def busy_seconds() -> float | None:
    """CPU time of the whole machine that was neither idle nor waiting."""
    try:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    except OSError:
        return None
    user, nice, system, _idle, _wait, *rest = map(int, fields[:8])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """CPU time of this process and of the ended ones that it started."""
    used = [
        resource.getrusage(who)
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return sum(one.ru_utime + one.ru_stime for one in used)


def wait_for_calm(patience_s: float = 240) -> None:
    """Until other processes leave the machine alone for two seconds, or
    patience ends.
    """
    ended = time.monotonic() + patience_s
    while time.monotonic() < ended:
        _, others = with_others(lambda: time.sleep(2))
        if others is None or others < CALM_CORES:
            return


def noise_of(about: dict[str, Any]) -> float:
    return about["other_cores"] or 0.0


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
