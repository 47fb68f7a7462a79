"""Reading needs nothing that Windows lacks: traces from there are most of those that
strangers have.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.places import FIXTURES

AS_ON_WINDOWS = """
import os, signal, sys

for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"):
    sys.modules[name] = None
for name in (
    "SIGKILL", "SIGALRM", "SIGHUP", "SIGQUIT", "SIGPROF", "SIGURG", "SIGUSR1", "SIGPIPE",
    "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGVTALRM", "SIGTTIN", "SIGTTOU",
    "setitimer", "getitimer", "alarm", "pause", "ITIMER_REAL", "ITIMER_PROF",
    "pthread_sigmask", "pthread_kill", "sigwait", "sigpending", "siginterrupt",
):
    delattr(signal, name)
for name in (
    "fork", "killpg", "getuid", "geteuid", "getgid", "getpgid", "setsid", "getppid",
    "sched_getaffinity", "mkfifo", "chown", "getloadavg", "fchmod",
    "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_TMPFILE", "O_DIRECTORY", "O_NOFOLLOW", "posix_fadvise",
):
    delattr(os, name)
from tfadvisor.cli.entry import run
"""


def test_analyze_compare_and_the_page_work_without_posix(tmp_path: Path) -> None:
    one, other = FIXTURES / "tf-callback", FIXTURES / "tf-generator"
    call = f"{AS_ON_WINDOWS}\nrun()"
    commands = (
        ["analyze", str(one)],
        ["analyze", str(FIXTURES / "jax-hosts-late"), "--format", "json"],
        ["analyze", str(one), "-o", str(tmp_path / "page.html")],
        ["compare", str(one), str(other)],
        ["explain", "input-not-prefetched"],
        ["--help"],
    )

    for command in commands:
        done = subprocess.run(
            [sys.executable, "-c", call, *command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        assert "Traceback" not in done.stderr
    assert "<!doctype html>" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize("command", ["run", "try"])
def test_what_needs_posix_says_so(command: str) -> None:
    """One line, and no name that is missing."""
    call = f"{AS_ON_WINDOWS}\nrun()"
    done = subprocess.run(
        [sys.executable, "-c", call, command, "--", sys.executable, "-c", "1"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "WSL 2" in done.stderr
