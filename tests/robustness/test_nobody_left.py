"""Whatever ends an analysis, nothing that it started stays: no process, no half-written file."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.processes import IN_PROCESSES, marked
from support.trace_builder import trace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture(scope="module")
def five_hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = trace()
    for number in range(5):
        builder.host(f"host-{number}").steps(300, period=100)
        for at in range(0, 30_000, 10):
            builder.kernel("GPU:0", "gemm", at + 2, at + 9, launched=(at, at + 1))
    return builder.write(tmp_path_factory.mktemp("runs") / "run")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_workers_end_with_the_command(five_hosts: Path, tmp_path: Path, number: signal.Signals) -> None:
    """At random moments, from before the first worker is there until the report is written."""
    chance = random.Random(int(number))
    for _ in range(4):
        with marked() as group:
            call = [sys.executable, "-c", IN_PROCESSES, "analyze", five_hosts, "-o", tmp_path / "report.html"]
            process = group.start(call, stderr=subprocess.PIPE)
            time.sleep(chance.uniform(0.1, 1.2))
            process.send_signal(number)
            _, said = process.communicate(timeout=20)

            assert group.left() == []
        assert [one.name for one in tmp_path.iterdir() if one.name != "report.html"] == []
        if number != signal.SIGKILL:
            _is_told(process.returncode, said, number)


def _is_told(code: int, said: bytes, number: signal.Signals) -> None:
    """One line and the signal's code; or the analysis was over before."""
    words = {signal.SIGTERM: b"tfadvisor: terminated\n", signal.SIGINT: b"tfadvisor: interrupted\n"}[number]
    assert (code, said) in ((128 + number, words), (0, b""))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_in_the_first_moments_is_told_in_one_line(number: signal.Signals) -> None:
    """From where Python runs code of ours, through all imports. Before, the interpreter itself is all there is."""
    for delay_ms in (0, 5, 15, 30, 60, 90):
        begun = "import sys; print(flush=True); sys.argv[1:] = ['analyze', '/nowhere']; "
        call = [sys.executable, "-c", begun + "from tfadvisor.cli.entry import run; print(flush=True); run()"]
        process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.readline()
        time.sleep(delay_ms / 1000)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)

        if process.returncode != 3:  # it was over before
            _is_told(process.returncode, said, number)


def test_a_worker_whose_parent_is_gone_ends_before_it_reads_anything() -> None:
    code = "import sys; from tfadvisor.processes import follow_parent; follow_parent(1 << 30); print('still here')"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (1, b"")


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
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)

    assert (process.returncode, said) == (130, b"tfadvisor: interrupted\n")
    assert time.monotonic() - began < 10
