"""Hosts read one after the other or in parallel processes: the same report, the same
errors.
"""

from __future__ import annotations

import pickle
import time
from pathlib import Path

import pytest
from support.exactly import picoseconds_of, us
from support.trace_builder import TraceBuilder, trace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.analysis import Options, analyze, analyze_run
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.metrics.registry import measure
from tfadvisor.processes import Worker
from tfadvisor.report.forms.html import as_json
from tfadvisor.timeline.run import local_processes as parallel
from tfadvisor.timeline.run import read_hosts
from tfadvisor.timeline.run.one_host import read_host
from tfadvisor.timeline.run.run_summary import merge
from tfadvisor.trace.runs import Run


def run_of(hosts: int, late: int = -1, steps: int = 4) -> TraceBuilder:
    """Hosts `host-00`, … with a GPU each, clocks 1 s apart. In steps of 1,000 each
    computes for 200, the late one for 500, before all leave a collective at 700."""
    builder = trace()
    for number in range(hosts):
        builder.host(f"host-{number:02}").clock(number * 1e6).steps(steps, period=1000)
        arrival = 500 if number == late else 200
        for at in range(0, steps * 1000, 1000):
            builder.kernel("GPU:0", "gemm", at + 2, at + arrival, launched=(at, at + 1))
            builder.collective("GPU:0", at + arrival, at + 700)
    return builder


def run_in(folder: Path) -> Run:
    return Run(folder.name, folder, tuple(sorted(folder.glob("*.xplane.pb"))))


@pytest.fixture
def always_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_hosts, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(read_hosts, "free_memory", lambda: 1 << 40)


@pytest.fixture
def never_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting a process fails the test."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(parallel, "Worker", refuse)


def test_parallel_processes_give_the_report_of_one(
    always_processes: None, tmp_path: Path
) -> None:
    """Also the same progress: each file is done once."""
    run = run_in(run_of(5, late=3).write(tmp_path / "run"))
    done: list[str] = []

    parallel = analyze_run(
        run,
        Options(processes=2),
        lambda file, now, whole: done.append(f"{file.name} {now}/{whole}"),
    )
    sequential = analyze_run(run, Options(processes=1))

    assert as_json(parallel) == as_json(sequential)
    assert sorted(done) == [f"host-{number:02}.xplane.pb 1/1" for number in range(5)]
    assert parallel.run.hosts == tuple(f"host-{number:02}" for number in range(5))
    assert parallel.metrics["late_host_fraction"].value == pytest.approx(
        0.3, rel=0, abs=1e-12
    )


def test_a_chosen_range_of_steps_reaches_the_processes(
    always_processes: None, tmp_path: Path
) -> None:
    folder = run_of(3).write(tmp_path / "run")

    report = analyze(folder, steps=(1, 3), processes=2).report

    assert [(step.host, step.index) for step in report.steps.each] == [
        (f"host-{number:02}", index) for number in range(3) for index in (1, 2)
    ]


def test_a_broken_file_of_one_host_is_left_out_by_name(
    always_processes: None, tmp_path: Path
) -> None:
    folder = run_of(4).write(tmp_path / "run")
    broken = folder / "host-02.xplane.pb"
    broken.write_bytes(broken.read_bytes()[:-7])

    report = analyze_run(run_in(folder), Options(processes=2))

    assert report.run.hosts == ("host-00", "host-01", "host-03")
    (note,) = [one.note for one in report.capture if one.rule_id == "hosts-left-out"]
    assert "host-02 (" in note and "is cut short or damaged)" in note


def test_of_several_broken_files_one_is_told_and_later_ones_are_not_read(
    always_processes: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Threads stand in for processes."""
    files = [tmp_path / f"host-{number:02}.xplane.pb" for number in range(20)]
    begun: list[bytes] = []

    class Fake:
        def __init__(self, _module: str) -> None: ...

        def ask(self, task: tuple[str, bytes]) -> bytes:
            asked = pickle.loads(task[1])
            begun.append(asked.file)
            time.sleep(0.05)
            return pickle.dumps(TraceError(asked.file.decode(), "is broken.", ""))

        def end(self) -> None: ...

    monkeypatch.setattr(parallel, "Worker", Fake)

    with pytest.raises(TraceError) as caught:
        list(read_hosts.run_hosts(files, None, 2, None))

    assert caught.value.place in map(str, files[:2])
    assert str(files[-1]).encode() not in begun


def test_a_host_without_events_is_left_out_by_name(
    always_processes: None, tmp_path: Path
) -> None:
    folder = run_of(2).host("host-99").empty_device("GPU:0").write(tmp_path / "run")

    report = analyze_run(run_in(folder), Options(processes=2))

    (note,) = [one.note for one in report.capture if one.rule_id == "hosts-left-out"]
    assert "host-99 (holds no events)" in note


def test_options_that_do_not_fit_are_told_from_a_process_too(
    always_processes: None, tmp_path: Path
) -> None:
    folder = run_of(3).write(tmp_path / "run")

    with pytest.raises(UsageError, match="the trace has 4 steps"):
        analyze(folder, steps=(7, 9), processes=2)


@pytest.mark.parametrize("processes", [1, 8])
def test_small_files_start_no_process(
    never_processes: None, tmp_path: Path, processes: int
) -> None:
    folder = run_of(3).write(tmp_path / "run")

    assert len(analyze(folder, processes=processes).report.run.hosts) == 3


def test_a_machine_without_memory_for_two_hosts_starts_no_process(
    never_processes: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A host needs up to eight times its file's size; there is room for one and
    a half.
    """
    folder = run_of(3).write(tmp_path / "run")
    largest = max(file.stat().st_size for file in folder.iterdir())
    monkeypatch.setattr(read_hosts, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(read_hosts, "free_memory", lambda: largest * 12)

    assert len(analyze(folder, processes=4).report.run.hosts) == 3


def test_sixty_four_hosts_in_a_folder_are_one_run(tmp_path: Path) -> None:
    """Host 41 is 300 late in each step of 1,000: 63 hosts wait 300 of their 1,000.
    Clocks are up to 63 s apart.
    """
    folder = run_of(64, late=41).write(tmp_path / "run")

    report = analyze(folder).report
    timeline = merge(
        "run", "run", [read_host(file, None, None) for file in run_in(folder).files]
    )
    metrics = measure(timeline)

    assert len(report.run.hosts) == len(report.run.devices) == 64
    assert report.broken == ()
    assert sum(report.breakdown.values()) == pytest.approx(1, abs=1e-6)
    assert timeline.meetings.clocks.offset_ps == tuple(
        number * 10**12 for number in range(64)
    )
    assert timeline.meetings.start.shape == (4, 64)
    assert metrics.fact("late_host") == "host-41"
    assert picoseconds_of(metrics, "late_host_fraction", 1000) == us(300)
    assert picoseconds_of(metrics, "collective_wait_fraction", 64_000) == us(63 * 300)
    assert metrics.value("steps_counted") == 4


def test_a_copied_hosts_file_is_no_second_host(tmp_path: Path) -> None:
    folder = run_of(3).write(tmp_path / "run")
    (folder / "copy.xplane.pb").write_bytes((folder / "host-01.xplane.pb").read_bytes())

    assert len(analyze(folder).report.run.hosts) == 3


def test_errors_survive_the_way_back_from_a_process() -> None:
    error = TraceError(
        "run/host.xplane.pb: byte 5 of 9", "is cut short.", "Copy it again."
    )

    back = pickle.loads(pickle.dumps(error))

    assert type(back) is TraceError
    assert (back.place, back.cause, back.remedy) == (
        error.place,
        error.cause,
        error.remedy,
    )
    assert str(back) == str(error)
    assert back.exit_code == 3


def test_a_summary_survives_the_way_back_from_a_process() -> None:
    """What is measured of it is the same number for number."""
    hosts = run_of(3, late=2).build().hosts

    back = pickle.loads(pickle.dumps(hosts))

    before, after = (measure(merge("run", "run", one)) for one in (hosts, back))
    assert {name: one.value for name, one in before.items()} == {
        name: one.value for name, one in after.items()
    }
    assert after.fact("late_host") == before.fact("late_host") == "host-02"


def test_one_killed_process_loses_nothing(
    always_processes: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first of two processes kills itself; another one takes its place and its
    host.
    """
    started: list[Worker] = []

    def worker(module: str) -> Worker:
        started.append(Worker(module if started else "tfadvisor.no_such_module"))
        return started[-1]

    monkeypatch.setattr(parallel, "Worker", worker)

    report = analyze_run(
        run_in(run_of(4, late=3).write(tmp_path / "run")), Options(processes=2)
    )

    assert report.run.hosts == tuple(f"host-{number:02}" for number in range(4))
    assert report.metrics["late_host_fraction"].value == pytest.approx(
        0.3, rel=0, abs=1e-12
    )
    assert len(started) == 3


def test_killed_processes_are_a_lack_of_memory_not_a_fault(
    always_processes: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The worker's module cannot be imported, so that each ends before it answers."""
    monkeypatch.setattr(
        parallel, "Worker", lambda _: Worker("tfadvisor.no_such_module")
    )

    with pytest.raises(
        TraceError, match="the system killed each process that read it"
    ) as caught:
        analyze_run(run_in(run_of(2).write(tmp_path / "run")), Options(processes=2))

    assert caught.value.place == str(tmp_path / "run" / "host-00.xplane.pb")
