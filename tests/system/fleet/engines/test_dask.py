"""A Dask cluster of processes of this machine: the same report, and what happens to workers and schedulers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from support.places import FIXTURES

from tfadvisor.analysis import Options, analyze_run
from tfadvisor.cli.main import guarded_main
from tfadvisor.errors import UsageError
from tfadvisor.report.forms.html import as_json
from tfadvisor.timeline.run.local_processes import ClusterError
from tfadvisor.trace.runs import choose_run

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")

from dask import config as dask_config  # noqa: E402

from tfadvisor.fleet.engines import dask  # noqa: E402

_CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None,
                      memory_limit=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


class Cluster:
    """A scheduler and two workers, all processes of their own."""

    def __init__(self, folder: Path) -> None:
        script = folder / "cluster.py"
        script.write_text(_CLUSTER)
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def end(self) -> None:
        """The workers end with their nannies, those with the cluster."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Cluster]]:
    """Two of two processes each, on loopback; their workers can import a module with work for tests."""
    folder = tmp_path_factory.mktemp("clusters")
    (folder / "works_of_tests.py").write_text(_WORKS)
    sys.path.insert(0, str(folder))
    both = (Cluster(folder), Cluster(folder))
    yield both
    sys.path.remove(str(folder))
    for one in both:
        one.end()


_WORKS = '''
import os, signal, time
from pathlib import Path

def twice(task):
    return task * 2

def kills_once(task):
    """task: a file whose absence says that nobody was killed yet."""
    file = Path(task.decode())
    if file.name.startswith("kill") and not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return b"done " + file.name.encode()

def kills_always(task):
    if task == b"poison":
        os.kill(os.getpid(), signal.SIGKILL)
    return task

def slow(task):
    time.sleep(0.2)
    return task

def fails(task):
    raise KeyError("no such thing")
'''


def works():
    import works_of_tests

    return works_of_tests


def test_two_clusters_give_the_report_of_one_process(clusters: tuple[Cluster, Cluster]) -> None:
    run, _ = choose_run([FIXTURES / "jax-hosts-late"])
    alone = as_json(analyze_run(run, Options()))

    for cluster in clusters:
        with dask.dask_cluster(cluster.address) as engine:
            assert as_json(analyze_run(run, Options(engine=engine))) == alone


def test_every_answer_comes_once(clusters: tuple[Cluster, Cluster]) -> None:
    tasks = [f"{number}-".encode() for number in range(500)]

    with dask.dask_cluster(clusters[0].address) as engine:
        found = {one.task: one.value for one in engine.each(works().twice, tasks)}

    assert found == {number: f"{number}-{number}-".encode() for number in range(500)}


@pytest.mark.slow
def test_workers_killed_in_the_middle_lose_nothing(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    """Two of a hundred tasks kill the worker that tries them first."""
    names = ["kill-one" if number == 30 else "kill-two" if number == 60 else f"{number}" for number in range(100)]

    with dask.dask_cluster(clusters[0].address) as engine:
        found = {
            one.task: one.value
            for one in engine.each(works().kills_once, [str(tmp_path / name).encode() for name in names])
        }

    assert found == {number: f"done {name}".encode() for number, name in enumerate(names)}


@pytest.mark.slow
def test_a_task_that_always_kills_its_worker_is_told_and_the_others_are_done(
    clusters: tuple[Cluster, Cluster],
) -> None:
    tasks = [b"poison" if number == 3 else str(number).encode() for number in range(8)]

    with dask.dask_cluster(clusters[1].address) as engine:
        found = {one.task: one.value for one in engine.each(works().kills_always, tasks)}

    assert found == {number: None if number == 3 else task for number, task in enumerate(tasks)}


def test_what_work_raises_is_told_in_one_line(clusters: tuple[Cluster, Cluster]) -> None:
    with (
        pytest.raises(ClusterError, match="a worker failed: KeyError: 'no such thing'"),
        dask.dask_cluster(clusters[0].address) as engine,
    ):
        list(engine.each(works().fails, [b"x"]))


def test_workers_with_another_tfadvisor_are_refused(
    clusters: tuple[Cluster, Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask, "VERSION", "9.9.9")

    with (
        pytest.raises(UsageError, match=r"2 of 2 workers have tfadvisor .*, and this is 9\.9\.9"),
        dask.dask_cluster(clusters[0].address),
    ):
        raise AssertionError


def test_the_command_reads_on_a_cluster(clusters: tuple[Cluster, Cluster], capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(FIXTURES / "jax-hosts-late")

    assert guarded_main(["analyze", folder, "--scheduler", clusters[0].address, "--format", "json"]) == 0
    there = capsys.readouterr().out
    assert guarded_main(["analyze", folder, "--format", "json"]) == 0

    assert msgspec.json.decode(there) == msgspec.json.decode(capsys.readouterr().out)


def test_nobody_answers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "_CONNECT_S", 1)

    code = guarded_main(["analyze", str(FIXTURES / "jax-hosts-late"), "--scheduler", "tcp://127.0.0.1:9"])

    assert code == 3
    err = capsys.readouterr().err
    assert "tcp://127.0.0.1:9: no Dask scheduler answers there" in err
    assert err.count("\n") == 1


def test_a_scheduler_that_dies(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> None:
    """It is killed once the first answer is there. (The clusters of the other tests make the work importable here.)"""
    (tmp_path / "works_of_tests.py").write_text(_WORKS)
    cluster = Cluster(tmp_path)
    try:
        with (
            dask_config.set({"distributed.comm.timeouts.connect": "2s"}),
            pytest.raises(ClusterError, match="the connection to the Dask scheduler is lost"),
            dask.dask_cluster(cluster.address) as engine,
        ):
            for _ in engine.each(works().slow, [b"x"] * 200):
                os.kill(cluster.process.pid, signal.SIGKILL)
    finally:
        cluster.end()
