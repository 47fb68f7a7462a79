"""Work trees of two commits, with their submodules, that are gone afterwards, whatever happens."""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from tfadvisor.against.commits import Commits
from tfadvisor.errors import UsageError
from tfadvisor.files import unfinished
from tfadvisor.git import GitRefused, git
from tfadvisor.processes import undisturbed

_SUBMODULE = "160000 "
"""The mode of an entry that is a commit of another repository."""
_PREFIX = "tfadvisor-against-"
_OURS = re.compile(rf"^{_PREFIX}(.+)-(\d+)-[^-]+$")


class WorkTrees(msgspec.Struct, frozen=True):
    """Folders: of all, and of the two sides, whose names are of one length."""

    folder: Path
    base: Path
    head: Path


@contextmanager
def work_trees(commits: Commits, links: Sequence[str] = ()) -> Iterator[WorkTrees]:
    """Both commits, checked out. links: what git does not track and both need, relative to the repository's top.

    Raises UsageError.
    """
    _remove_left_behind(commits.root)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{socket.gethostname()}-{os.getpid()}-"))
    trees = WorkTrees(folder, folder / "base", folder / "head")
    made: list[tuple[Path, Path]] = []
    with unfinished(str(folder)):
        try:
            for target, commit in ((trees.base, commits.base), (trees.head, commits.head)):
                _check_out(commits.root, commit, target, made)
                for link in links:
                    _link(commits.root / link, target / link)
            yield trees
        finally:
            with undisturbed():
                shutil.rmtree(folder, ignore_errors=True)
                for repository, target in reversed(made):
                    _forget(repository, target)


def environment_of(commits: Commits, tree: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The same environment in a work tree: PYTHONPATH's places in the checkout are the work tree's."""
    root = str(commits.root)
    places = [
        str(tree / Path(place).relative_to(root)) if Path(place).is_relative_to(root) else place
        for place in environment.get("PYTHONPATH", "").split(os.pathsep)
    ]
    return {**environment, "PYTHONPATH": os.pathsep.join(places), "PWD": str(tree / commits.inside)}


def _check_out(repository: Path, commit: str, target: Path, made: list[tuple[Path, Path]]) -> None:
    """One work tree, and below it those of the submodules that the repository has checked out itself."""
    with undisturbed():
        made.append((repository, target))
        git(repository, "worktree", "add", "--quiet", "--detach", str(target), commit)
    for entry in git(repository, "ls-tree", "-r", "-z", commit).split("\0"):
        about, _, name = entry.partition("\t")
        inner = repository / name
        if not about.startswith(_SUBMODULE) or not (inner / ".git").exists():
            continue
        pinned = about.rpartition(" ")[2]
        try:
            _check_out(inner, pinned, target / name, made)
        except GitRefused as error:
            remedy = f"Fetch it: `git -C {name} fetch origin {pinned}`."
            raise UsageError(f"the submodule {name} has no commit {pinned[:9]} ({error.said}). {remedy}") from error


def _link(source: Path, target: Path) -> None:
    if not source.exists():
        raise UsageError(f"--link: {source} is not there.")
    if target.exists():
        raise UsageError(f"--link: {source} is tracked by git, so that both work trees have their own.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source.resolve())


def _forget(repository: Path, target: Path) -> None:
    """Git's own note of a work tree that is gone."""
    with suppress(UsageError):
        git(repository, "worktree", "remove", "--force", str(target))


def _remove_left_behind(root: Path) -> None:
    """Work trees of a run that was killed. Those of other machines, which may share the repository, stay."""
    for line in git(root, "worktree", "list", "--porcelain").splitlines():
        tree = Path(line.removeprefix("worktree "))
        owner = _OURS.match(tree.parent.name) if line.startswith("worktree ") else None
        if owner is not None and owner[1] == socket.gethostname() and not _lives(int(owner[2])):
            shutil.rmtree(tree.parent, ignore_errors=True)
            _forget(root, tree)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
