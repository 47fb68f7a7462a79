"""Git repositories made for a test, and a program in them whose framework is a fake
that hands out the commit's trace.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from support.trace_builder import trace

COMMAND = Path(sys.executable).parent / "tfadvisor"
FAKES = Path(__file__).parents[1] / "system" / "act" / "record" / "fake_frameworks"
TRAINS = """
    import os, sys, time
    os.environ["FAKE_TRACE"] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded", "host.xplane.pb")
    import jax
    print("training starts")
    step = jax.jit(lambda: time.sleep(0.01))
    while True:
        step()
"""


class Repository:
    """A repository with a program that trains for ever, as slowly as the trace in its
    commit says.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")
        (folder / "train.py").write_text(dedent(TRAINS))
        self.env = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith("GITHUB_")
            },
            "PYTHONPATH": os.pathsep.join(
                filter(None, (str(FAKES), os.environ.get("PYTHONPATH")))
            ),
            "FAKE_LOG": os.devnull,
        }

    def git(self, *arguments: str) -> str:
        who = [
            "-c",
            "user.name=somebody",
            "-c",
            "user.email=somebody@localhost",
            "-c",
            "protocol.file.allow=always",
        ]
        return subprocess.run(
            ["git", *who, *arguments],
            cwd=self.folder,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def commit(self, message: str, kernels: int = 0) -> str:
        """Commits everything, with the trace of steps of so many kernels, if any.
        Returns the commit.
        """
        if kernels:
            record(self.folder / "recorded", kernels)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def start(
        self, *arguments: object, program: str = "train.py", **env: str
    ) -> subprocess.Popen[str]:
        call = [
            str(COMMAND),
            "gate",
            *map(str, arguments),
            "--",
            sys.executable,
            program,
        ]
        return subprocess.Popen(
            call,
            cwd=self.folder,
            env={**self.env, **env},
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def gate(
        self, *arguments: object, program: str = "train.py", **env: str
    ) -> tuple[int, str, str]:
        """(exit code, stdout, stderr) of one turn of `tfadvisor gate …`."""
        running = self.start(*arguments, "--budget", "1s", program=program, **env)
        out, err = running.communicate(timeout=120)
        return running.returncode, out, err

    def is_left_alone(self) -> bool:
        """Whether only the checkout itself is left as a work tree."""
        return self.git("worktree", "list").count("\n") == 0 and not list(
            (self.folder / ".git").glob("worktrees/*")
        )


def record(folder: Path, kernels: int) -> None:
    """A trace of eight steps of 20 ms, each with so many kernels that take half
    of it.
    """
    builder, ms = trace(), 20.0
    for number in range(8):
        start = number * ms * 1000
        builder.step(start, start + ms * 1000)
        for kernel in range(kernels):
            begin = start + kernel * ms * 500 / kernels
            builder.busy(
                "GPU:0", (begin, begin + ms * 500 / kernels), name=f"kernel_{kernel}"
            )
    builder.write(folder)
