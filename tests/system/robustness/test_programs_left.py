"""Whatever ends tfadvisor while a program of the user's runs under it: the program, its
children, temporary folders and work trees go too.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.processes import WITHOUT_POWERS, Marked, marked
from support.repositories import Repository

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]
PROGRAM = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
open(os.environ["SEEN"], "a").close()
time.sleep(300)
"""
CALLS = {
    "run": ["run", "--", sys.executable, "-c", PROGRAM],
    "try": ["try", "--env", "A=1", "--", sys.executable, "program.py"],
    "against": ["gate", "--against", "HEAD~1", "--", sys.executable, "-c", PROGRAM],
}


def started(group: Marked, folder: Path, call: list[str]) -> subprocess.Popen[bytes]:
    """In a repository, once the program runs."""
    for name in ("tmp", "repository"):
        (folder / name).mkdir()
    repository = Repository(folder / "repository")
    repository.commit("base", 10)
    repository.commit("head", 12)
    (folder / "repository" / "program.py").write_text(PROGRAM)
    env = {
        **repository.env,
        "TMPDIR": str(folder / "tmp"),
        "SEEN": str(folder / "seen"),
    }
    command = [Path(sys.executable).parent / "tfadvisor", *call]
    null = subprocess.DEVNULL
    process = group.start(
        command,
        cwd=folder / "repository",
        env=env,
        stdin=null,
        stdout=null,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    until = time.monotonic() + 30
    while not (folder / "seen").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    return process


@pytest.mark.parametrize(
    "number",
    [signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL, signal.SIGUSR1],
    ids=lambda one: one.name,
)
@pytest.mark.parametrize("what", CALLS)
def test_nobody_and_nothing_is_left(
    tmp_path: Path, what: str, number: signal.Signals
) -> None:
    with marked() as group:
        process = started(group, tmp_path, CALLS[what])
        process.send_signal(number)
        process.communicate(timeout=20)

        assert group.left(20) == []
        assert list((tmp_path / "tmp").iterdir()) == []
    trees = subprocess.run(
        ["git", "worktree", "list"],
        cwd=tmp_path / "repository",
        capture_output=True,
        check=True,
    )
    assert len(trees.stdout.splitlines()) == 1


def test_under_nohup_a_closed_terminal_ends_nothing(tmp_path: Path) -> None:
    """Who asks that both go on gets it."""
    with marked() as group:
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            process = started(group, tmp_path, CALLS["run"])
        finally:
            signal.signal(signal.SIGHUP, before)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)

        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
        assert process.returncode == 143


def test_a_folder_that_its_owner_may_not_write_goes_too(tmp_path: Path) -> None:
    """Root first gives up the power to write everywhere."""
    inner = tmp_path / "tree" / "closed" / "deeper"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    (tmp_path / "outside").mkdir(mode=0o500)
    (inner / "link").symlink_to(tmp_path / "outside")
    inner.chmod(0)
    inner.parent.chmod(0o500)

    code = "import sys; from tfadvisor import guardian; guardian.remove(sys.argv[1])"
    subprocess.run(
        [*WITHOUT_POWERS, sys.executable, "-c", code, tmp_path / "tree"], check=True
    )

    assert not (tmp_path / "tree").exists()
    assert (tmp_path / "outside").stat().st_mode & 0o777 == 0o500
