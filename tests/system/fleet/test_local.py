"""Processes of this machine: every answer once, also when processes are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tfadvisor.timeline.run.local_processes import LocalProcesses
from tfadvisor.timeline.run.one_host import Engine

WORK = """
import os, signal
from pathlib import Path

def twice(task):
    return task * 2

def kills_once(task):
    file = Path(task.decode())
    if file.name.startswith("kill") and not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return b"done " + file.name.encode()

def kills_always(task):
    if task == b"poison":
        os.kill(os.getpid(), signal.SIGKILL)
    return task

def fails(task):
    raise KeyError("no such thing")

def where(task):
    return str(os.getpid()).encode()

def pages_fetched(task):
    import resource
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        blocks = [bytearray(4 << 20) for _ in range(8)]
        del blocks
    return str(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before).encode()
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A module that the processes can import as well."""
    (tmp_path / "work_of_processes.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    import work_of_processes

    yield work_of_processes
    del sys.modules["work_of_processes"]


@pytest.fixture
def engine() -> Engine:
    return LocalProcesses(2)


def test_every_answer_comes_once(work, engine: Engine) -> None:
    tasks = [f"{number}-".encode() for number in range(50)]

    assert {one.task: one.value for one in engine.each(work.twice, tasks)} == {
        number: f"{number}-{number}-".encode() for number in range(50)
    }


def test_no_more_processes_than_tasks(work) -> None:
    assert len({one.value for one in LocalProcesses(64).each(work.where, [b"x"])}) == 1


def test_nothing_to_do_starts_nothing(work, engine: Engine) -> None:
    assert list(engine.each(work.twice, [])) == []


def test_processes_killed_in_the_middle_lose_nothing(
    work, engine: Engine, tmp_path: Path
) -> None:
    names = [
        "kill-one" if number == 3 else "kill-two" if number == 6 else f"{number}"
        for number in range(10)
    ]

    found = {
        one.task: one.value
        for one in engine.each(
            work.kills_once, [str(tmp_path / name).encode() for name in names]
        )
    }

    assert found == {
        number: f"done {name}".encode() for number, name in enumerate(names)
    }


def test_a_task_that_always_kills_its_process_is_told_and_the_others_are_done(
    work, engine: Engine
) -> None:
    tasks = [b"poison" if number == 2 else str(number).encode() for number in range(6)]

    found = {one.task: one.value for one in engine.each(work.kills_always, tasks)}

    assert found == {
        number: None if number == 2 else task for number, task in enumerate(tasks)
    }


def test_what_work_raises_is_raised(work, engine: Engine) -> None:
    with pytest.raises(KeyError, match="no such thing"):
        list(engine.each(work.fails, [b"x"] * 20))


def test_processes_end_with_the_work(work, engine: Engine) -> None:
    processes = {int(one.value or b"0") for one in engine.each(work.where, [b"x"] * 20)}

    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


@pytest.mark.skipif(sys.platform != "linux", reason="another C library's allocator")
def test_a_process_keeps_the_memory_that_the_next_task_needs(
    work, engine: Engine
) -> None:
    """Ten times 32 MB are 81,920 pages of 4 KiB; once is 8,192."""
    (answer,) = engine.each(work.pages_fetched, [b"x"])

    assert int(answer.value or b"") < 20_000


KNOWS = """
import sys, threading
sys.path.insert(0, {folder!r})
import work_of_processes as work
from tfadvisor.timeline.run.local_processes import LocalProcesses
work.known = b"worked out"
if {threads} > 1:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print({{one.value for one in LocalProcesses(2).each(work.knows, [b"x"] * 9)}})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="no other system tells of threads")
@pytest.mark.parametrize(("threads", "known"), [(1, b"worked out"), (2, b"")])
def test_beside_no_other_thread_processes_know_what_this_one_does(
    tmp_path: Path, threads: int, known: bytes
) -> None:
    """A copy of a process with several threads may wait for ever for one of them."""
    module = tmp_path / "work_of_processes.py"
    module.write_text("known = b''\ndef knows(task):\n    return known\n")
    code = KNOWS.format(folder=str(tmp_path), threads=threads)
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}

    done = subprocess.run(
        [sys.executable, "-c", code], env=alone, capture_output=True, check=True
    )

    assert done.stdout.decode().strip() == str({known})
