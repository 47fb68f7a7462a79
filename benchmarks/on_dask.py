"""What a Dask cluster of two processes on this machine costs a host, and what a worker that is killed twice costs the report.

    pip install '.[cluster]'
    python benchmarks/on_dask.py [--hosts N] [--rounds N]

The same hosts are read by two Dask workers and by two processes of tfadvisor's own, in turns. What two hosts take is taken off,
so that starting counts for neither. Then the run is analysed while a worker is killed twice, and must name the planted late host.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from build_hosts import build

from tfadvisor.fleet.engines.dask import dask_cluster
from tfadvisor.timeline.run.local_processes import LocalProcesses
from tfadvisor.timeline.run.one_host import Engine, by_engine

BIN = Path(sys.executable).parent
COMPILING = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
WORKERS = 2
FEW = 2
BETWEEN_KILLS_S = 1.0


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--hosts", type=int, default=300)
    asked.add_argument("--rounds", type=int, default=5)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder, scheduler() as address, workers(address):
        late = build(Path(folder) / "run", given.hosts)
        files = sorted((Path(folder) / "run").iterdir())
        with dask_cluster(address) as cluster:
            engines: dict[str, Engine] = {"Dask": cluster, "processes": LocalProcesses(WORKERS)}
            took = {name: [ms_a_host(engine, files)] for name, engine in engines.items()}
            for _ in range(given.rounds):
                for name, engine in engines.items():
                    took[name].append(ms_a_host(engine, files))
        middle = {name: statistics.median(found[1:]) for name, found in took.items()}
        more = middle["Dask"] - middle["processes"]
        print(
            f"{given.hosts} hosts: {middle['Dask']:.1f} ms a host by Dask, {middle['processes']:.1f} by processes: {more:+.1f}"
        )
        hosts, seconds = while_killed(address, Path(folder) / "run", late)
        print(f"A worker killed twice: {hosts} of {given.hosts} hosts, the late one named, {seconds:.1f} s")


def ms_a_host(engine: Engine, files: list[Path]) -> float:
    """Of the hosts beyond the first few."""
    return (seconds(engine, files) - seconds(engine, files[:FEW])) / (len(files) - FEW) * 1e3


def seconds(engine: Engine, files: list[Path]) -> float:
    began = time.perf_counter()
    assert sum(1 for _ in by_engine(files, engine, None, None)) == len(files)
    return time.perf_counter() - began


def while_killed(address: str, run: Path, late: str) -> tuple[int, float]:
    """(hosts in the report, seconds it took). Raises where the report does not name the late host first."""
    began = time.perf_counter()
    command = [BIN / "tfadvisor", "analyze", run, "-f", "json", "--scheduler", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=COMPILING) as process:
        killer = Thread(target=kill_twice, args=(address,))
        killer.start()
        assert process.stdout is not None
        report = json.load(process.stdout)
        killer.join()
    if late not in json.dumps([report["verdict"], report["findings"][0]]):
        raise SystemExit(f"{late} is not named")
    return len(report["run"]["hosts"]), time.perf_counter() - began


def kill_twice(address: str) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        for _ in range(2):
            time.sleep(BETWEEN_KILLS_S)
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


@contextmanager
def scheduler() -> Iterator[str]:
    command = [BIN / "dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=COMPILING) as process:
        assert process.stderr is not None
        address = next(found[1] for line in process.stderr if (found := re.search(r"(tcp://\S+)", line)))
        Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield address
        finally:
            process.terminate()


@contextmanager
def workers(address: str) -> Iterator[None]:
    command = [BIN / "dask", "worker", address, "--nthreads", "1", "--nworkers", str(WORKERS), "--no-dashboard"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=COMPILING) as process:
        try:
            yield
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
