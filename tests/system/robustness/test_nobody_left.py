"""Whatever ends an analysis, nothing that it started stays: no process, no half-written
file.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.processes import IN_PROCESSES, marked
from support.trace_builder import trace

from tfadvisor.files import new_file

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]


@pytest.fixture(scope="module")
def five_hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = trace()
    for number in range(5):
        builder.host(f"host-{number}").steps(300, period=100)
        for at in range(0, 30_000, 10):
            builder.kernel("GPU:0", "gemm", at + 2, at + 9, launched=(at, at + 1))
    return builder.write(tmp_path_factory.mktemp("runs") / "run")


@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, signal.SIGTERM, signal.SIGINT],
    ids=lambda number: number.name,
)
def test_workers_end_with_the_command(
    five_hosts: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """At random moments, from where signals are heeded, before the first worker is
    there, until the report is written.
    """
    chance = random.Random(int(number))
    heeds = f"from tfadvisor.cli import entry; print(flush=True); {IN_PROCESSES}"
    for _ in range(4):
        with marked() as group:
            call = [
                sys.executable,
                "-c",
                heeds,
                "analyze",
                five_hosts,
                "-o",
                tmp_path / "report.html",
            ]
            process = group.start(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            assert process.stdout is not None
            # on a busy machine Python itself takes longer than any wait that is fixed
            process.stdout.readline()
            time.sleep(chance.uniform(0, 1.1))
            process.send_signal(number)
            _, said = process.communicate(timeout=20)

            assert group.left() == []
        assert [
            one.name for one in tmp_path.iterdir() if one.name != "report.html"
        ] == []
        if number != signal.SIGKILL:
            _is_told(process.returncode, said, number)


def _is_told(code: int, said: bytes, number: signal.Signals) -> None:
    """One line and the signal's code; or the analysis was over before."""
    words = {
        signal.SIGTERM: b"tfadvisor: terminated\n",
        signal.SIGINT: b"tfadvisor: interrupted\n",
    }[number]
    assert (code, said) in ((128 + number, words), (0, b""))


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name
)
def test_a_signal_in_the_first_moments_is_told_in_one_line(
    number: signal.Signals,
) -> None:
    """From where Python runs code of ours, through all imports. Before, the interpreter
    itself is all there is.
    """
    for delay_ms in (0, 5, 15, 30, 60, 90):
        begun = (
            "import sys; print(flush=True); sys.argv[1:] = ['analyze', '/nowhere']; "
        )
        call = [
            sys.executable,
            "-c",
            begun + "from tfadvisor.cli.entry import run; print(flush=True); run()",
        ]
        process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.readline()
        time.sleep(delay_ms / 1000)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)

        if process.returncode != 3:  # it was over before
            _is_told(process.returncode, said, number)


def test_a_worker_without_a_task_ends_when_its_parent_is_killed() -> None:
    """One that has a task notices when it answers; this one would wait for ever."""
    code = (
        "import time; from tfadvisor.processes import Worker; worker = "
        "Worker('tfadvisor.timeline.run.local_processes'); "
    )
    code += "print(flush=True); time.sleep(60)"
    with marked() as group:
        process = group.start([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        (worker,) = set(group.alive()) - {process.pid}
        while not _listens(worker):
            time.sleep(0.02)
        process.kill()
        process.communicate()

        assert group.left() == []


def _listens(process: int) -> bool:
    """Whether a worker waits for tasks, in a thread."""
    return len(list(Path(f"/proc/{process}/task").iterdir())) > 1


def test_a_worker_whose_parent_is_gone_ends_before_it_reads_anything() -> None:
    code = (
        "import sys; from tfadvisor.processes import follow_parent; follow_parent(1 "
        "<< 30); print('still here')"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, b"")


@pytest.mark.parametrize("slow", [False, True], ids=["at once", "slowly"])
def test_a_temporary_folder_goes_with_a_signal(tmp_path: Path, slow: bool) -> None:
    """Also where removing it takes so long that the signal comes again meanwhile."""
    code = f"""
import os, shutil, signal, time
from tfadvisor.cli import entry, main
from tfadvisor.files import temporary_folder
real = shutil.rmtree
def slowly(*arguments, **named):
    shutil.rmtree = real
    time.sleep(20)
def fills(arguments):
    with temporary_folder() as folder:
        open(folder + "/dump", "w").write("large")
        if {slow}:
            shutil.rmtree = slowly
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(20)
main.guarded_main = fills
entry.run()
"""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env=env,
        check=False,
        timeout=20,
    )

    assert (done.returncode, done.stderr) == (143, b"tfadvisor: terminated\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("hidden", [False, True], ids=["without a name", "hidden"])
def test_a_half_written_file_goes_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: bool
) -> None:
    """Where the file system has no files without names, it has a hidden one until it is
    whole.
    """
    if hidden:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    with pytest.raises(KeyboardInterrupt), new_file(tmp_path / "report") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []

    with new_file(tmp_path / "report") as file:
        file.write(b"whole")
    assert (tmp_path / "report").read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [tmp_path / "report"]


def test_a_killed_writer_leaves_no_hidden_file(tmp_path: Path) -> None:
    """Where files without names can be had."""
    if not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without names")
    code = (
        "import os, sys; from pathlib import Path; from tfadvisor.files import "
        "new_file\n"
    )
    code += (
        "with new_file(Path(sys.argv[1])) as file: file.write(b'half'); "
        "file.flush(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "report"], check=False)

    assert list(tmp_path.iterdir()) == []


def test_a_swallowed_signal_comes_again_and_wins() -> None:
    """Code of others may catch everything."""
    code = """
import time
from tfadvisor.cli import entry, main
def swallows(arguments):
    try:
        print(flush=True)
        time.sleep(20)
    except BaseException:
        pass
    time.sleep(20)
    return 0
main.guarded_main = swallows
entry.run()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)

    assert (process.returncode, said) == (130, b"tfadvisor: interrupted\n")
    assert time.monotonic() - began < 10
