"""Git as a child process: its output, or one line about what it refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tfadvisor.errors import UsageError

_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")
"""What git tells its hooks about the repository that they belong to; in another one it is wrong."""
_SOMEBODY = {
    "GIT_AUTHOR_NAME": "tfadvisor",
    "GIT_AUTHOR_EMAIL": "tfadvisor@localhost",
    "GIT_COMMITTER_NAME": "tfadvisor",
    "GIT_COMMITTER_EMAIL": "tfadvisor@localhost",
}
"""A CI machine often has no user; the commit that is made of uncommitted changes is seen by nobody."""


class GitRefused(UsageError):
    """Git ended with an error. said: its last line."""

    def __init__(self, said: str) -> None:
        """said: without git's own `fatal:`."""
        super().__init__(f"git: {said}.")
        self.said = said


def git(folder: Path, *arguments: str) -> str:
    """What git prints, without the last line end. Runs no hook. Raises GitRefused, UsageError where there is no git."""
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    environment |= {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", **_SOMEBODY}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "-c", f"core.hooksPath={os.devnull}", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            start_new_session=True,  # Ctrl+C in a terminal is for this process, which may be cleaning up
        )
    except OSError as error:
        raise UsageError(f"git cannot be started: {error.strerror}. --against checks commits out with it.") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise GitRefused(said[-1].removeprefix("fatal: ").removeprefix("error: ").rstrip("."))
    return os.fsdecode(done.stdout).removesuffix("\n")
