"""Whatever ends tfadvisor while a program of the user's runs under it: the program, its children, temporary folders and work
trees go too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from support.processes import Marked, marked
from support.repositories import FAKES, Repository

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
    env = {**repository.env, "PYTHONPATH": str(FAKES), "TMPDIR": str(folder / "tmp"), "SEEN": str(folder / "seen")}
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
    "number", [signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL, signal.SIGUSR1], ids=lambda one: one.name
)
@pytest.mark.parametrize("what", CALLS)
def test_nobody_and_nothing_is_left(tmp_path: Path, what: str, number: signal.Signals) -> None:
    with marked() as group:
        process = started(group, tmp_path, CALLS[what])
        process.send_signal(number)
        process.communicate(timeout=20)

        assert group.left(20) == []
        assert list((tmp_path / "tmp").iterdir()) == []
    trees = subprocess.run(["git", "worktree", "list"], cwd=tmp_path / "repository", capture_output=True, check=True)
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


REMOVE = """
import os, shutil, sys
from tfadvisor import guardian
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
guardian.remove(sys.argv[1])
"""


def test_a_folder_that_its_owner_may_not_write_goes_too() -> None:
    """Root may write everywhere, so root's process becomes nobody before."""
    with tempfile.TemporaryDirectory(prefix="read-only-") as place:
        kept = Path(place, "kept")
        inner = Path(place, "tree", "closed", "more")
        inner.mkdir(parents=True)
        for file in (kept, inner / "file"):
            file.touch()
        (inner.parent / "link").symlink_to(kept)
        if os.getuid() == 0:
            for one in (place, *Path(place).rglob("*")):
                os.chown(one, 65534, 65534, follow_symlinks=False)
        inner.chmod(0o500)
        inner.parent.chmod(0o500)

        subprocess.run([sys.executable, "-c", REMOVE, Path(place, "tree")], check=True, timeout=60)

        assert [one.name for one in Path(place).iterdir()] == ["kept"]
