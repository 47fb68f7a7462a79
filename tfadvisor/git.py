"""Git as a child process: its output, or one line about what it refused. It runs
nothing that the repository configures.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tfadvisor.errors import UsageError

_KEPT = "GIT_CEILING_DIRECTORIES"
"""The only inherited variable that counts. Others, as those of a hook, name another
repository or programs to run.
"""
_OURS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_AUTHOR_NAME": "tfadvisor",
    "GIT_AUTHOR_EMAIL": "tfadvisor@localhost",
    "GIT_COMMITTER_NAME": "tfadvisor",
    "GIT_COMMITTER_EMAIL": "tfadvisor@localhost",
}
"""A CI machine often has no user; the commit that is made of uncommitted changes is
seen by nobody.
"""
_RUNS_NOTHING = (
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "submodule.recurse=false",
)
_FILTERS = (
    "--includes",
    "--null",
    "--name-only",
    "--get-regexp",
    r"^filter\.",
)
_NO_FILTER = ("clean=", "smudge=", "process=", "required=false")
_WITHOUT_FILES = frozenset(
    ("rev-parse", "symbolic-ref", "ls-files", "ls-tree", "for-each-ref", "config")
)
"""What compares and writes no file, and so asks no filter."""


class GitRefused(UsageError):
    """Git ended with an error. said: its last line."""

    def __init__(self, said: str) -> None:
        """said: without git's own `fatal:`."""
        super().__init__(f"git: {said}.")
        self.said = said


def git(
    folder: Path,
    *arguments: str,
    seconds: float | None = None,
    index: Path | None = None,
    given: str = "",
) -> str:
    """What git prints, without the last line end. seconds: the longest that it may
    take. index: a file to use in place of the repository's index. given: what git
    reads from its standard input.

    Paths among the arguments are names, never patterns. Hooks, monitors of files and
    filters that the repository's own configuration names do not run; filters of the
    user's do, as Git LFS. Never let a command look into a submodule, whose own
    configuration is not read here: call `git` there instead.
    Raises GitRefused, UsageError where there is no git.
    """
    if arguments[0] not in _WITHOUT_FILES:
        arguments = (*_without_filters(folder, seconds), *arguments)
    return _run(folder, arguments, seconds, index, given)


def _without_filters(
    folder: Path,
    seconds: float | None,
) -> Iterator[str]:
    """Options that switch off each filter that the repository, or one work tree of it,
    configures.
    """
    drivers = set()
    for where in ("--local", "--worktree"):
        try:
            named = _run(
                folder,
                ("config", where, *_FILTERS),
                seconds,
            )
        except GitRefused:  # none
            continue
        for name in filter(None, named.split("\0")):
            driver, _, _ = name.removeprefix("filter.").rpartition(".")
            drivers.add(driver)

    for driver in sorted(drivers):
        if "=" in driver:
            raise UsageError(
                f"the repository configures a filter called {driver!r}, which cannot "
                "be switched off."
            )
        for setting in _NO_FILTER:
            yield "-c"
            yield f"filter.{driver}.{setting}"


def _run(
    folder: Path,
    arguments: tuple[str, ...],
    seconds: float | None,
    index: Path | None = None,
    given: str = "",
) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *_RUNS_NOTHING, *arguments],
            env=_environment(index),
            input=os.fsencode(given),
            capture_output=True,
            check=False,
            timeout=seconds,
            # Ctrl+C in a terminal is for this process, which may be cleaning up
            start_new_session=True,
        )
    except OSError as error:
        raise UsageError(f"git cannot be started: {error.strerror}.") from error
    except subprocess.TimeoutExpired as error:
        raise GitRefused(f"no answer within {seconds:g} seconds") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        last = lines[-1] if lines else f"exit code {done.returncode}"
        last = last.removeprefix("fatal: ").removeprefix("error: ")
        raise GitRefused(last.rstrip("."))
    return os.fsdecode(done.stdout).removesuffix("\n")


def _environment(index: Path | None) -> dict[str, str]:
    found = {}
    for name, value in os.environ.items():
        if name == _KEPT or not name.startswith("GIT_"):
            found[name] = value
    if index is not None:
        found["GIT_INDEX_FILE"] = str(index)
    return {**found, **_OURS}
