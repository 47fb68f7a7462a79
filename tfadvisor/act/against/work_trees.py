"""Two commits of a checkout in work trees of their own: the named one, and what is
checked out with its changes.
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from tfadvisor import guardian
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.files import unfinished
from tfadvisor.git import GitRefused, git
from tfadvisor.processes import lives, undisturbed


class Commits(msgspec.Struct, frozen=True):
    """Both sides of one repository."""

    root: Path
    """The top folder of the checkout."""
    inside: str
    """Where in it the command was called, relative to root; "" at the top."""
    ref: str
    """How the base was named."""
    base: str
    """Its commit, 40 digits."""
    head: str
    """The commit that is checked out, or one of it and its uncommitted changes, which
    no branch knows.
    """
    changed: tuple[str, ...]
    """Tracked files with uncommitted changes."""

    @property
    def base_name(self) -> str:
        """`main 1a2b3c4`."""
        short = self.base[:9]
        return short if self.base.startswith(self.ref) else f"{self.ref} {short}"

    @property
    def head_name(self) -> str:
        """`HEAD 1a2b3c4`, with a plus where uncommitted changes are in it."""
        short = git(self.root, "rev-parse", "HEAD")[:9]
        return f"HEAD {short}{'+' if self.changed else ''}"

    @property
    def same(self) -> bool:
        """Whether both hold the same files."""
        return self._tree_of(self.base) == self._tree_of(self.head)

    def _tree_of(self, commit: str) -> str:
        return git(self.root, "rev-parse", f"{commit}^{{tree}}")


def commits_of(folder: Path, ref: str) -> Commits:
    """The commits of the repository that the folder is in. Raises UsageError for what
    cannot be checked out.
    """
    try:
        root = Path(git(folder, "rev-parse", "--show-toplevel"))
    except GitRefused as error:
        raise UsageError(
            f"--against {ref}: {folder} is in no git checkout ({error.said})."
        ) from error
    base = _commit(root, ref)
    try:
        head = git(
            root,
            "rev-parse",
            "--verify",
            "HEAD^{commit}",
        )
    except GitRefused as error:
        raise UsageError(
            f"--against {ref}: the repository has no commit yet."
        ) from error
    changed = _changed(root)
    if changed:
        head = git(root, "stash", "create") or head
    inside = git(folder, "rev-parse", "--show-prefix").rstrip("/")
    return Commits(
        root,
        inside,
        ref,
        base,
        head,
        changed,
    )


def _commit(root: Path, ref: str) -> str:
    call = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    try:
        return git(root, *call, f"{ref}^{{commit}}")
    except GitRefused as error:
        raise UsageError(
            f"--against {ref}: no commit is called so in {root}. "
            f"{_how_to_find(root, ref)}"
        ) from error


def _how_to_find(root: Path, ref: str) -> str:
    if git(root, "rev-parse", "--is-shallow-repository") == "true":
        return (
            "The clone is shallow: fetch it, as with `git fetch --depth 1 "
            f"origin {ref}`, and name FETCH_HEAD."
        )
    known = git(root, "for-each-ref", "--format=%(refname:short)").splitlines()
    return did_you_mean(ref, known).strip() or "`git fetch` may bring it."


def _changed(root: Path) -> tuple[str, ...]:
    """Tracked files that are changed. Raises UsageError for changes that no commit can
    hold.
    """
    changed = []
    status = git(
        root,
        "status",
        "--porcelain=v2",
        "-z",
        "--untracked-files=no",
        "--ignore-submodules=untracked",
    )
    entries = iter(status.split("\0"))
    for entry in entries:
        kind, _, rest = entry.partition(" ")
        if kind == "u":
            raise UsageError(
                f"{rest.split(' ', 9)[-1]} has conflicts that are not resolved. "
                "Resolve them first."
            )
        if kind in ("1", "2"):
            fields = rest.split(" ", 7 if kind == "1" else 8)
            _check_can_be_held(fields)
            changed.append(fields[-1])
        if kind == "2":
            next(entries)  # the name before
    return tuple(changed)


def _check_can_be_held(fields: Sequence[str]) -> None:
    """fields: of a changed file in git's status."""
    name = fields[-1]
    if fields[1].startswith("S") and "M" in fields[1]:
        raise UsageError(
            f"the submodule {name} has uncommitted changes. Commit them there first."
        )
    if fields[0] == ".A":
        raise UsageError(
            f"{name} is announced by `git add -N` alone. Add it: `git add {name}`."
        )


# Work trees of two commits, with their submodules, that are gone afterwards, whatever
# happens.

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
def work_trees(
    commits: Commits,
    links: Sequence[str] = (),
) -> Iterator[WorkTrees]:
    """Both commits, checked out. links: what git does not track and both need, relative
    to the repository's top.

    Raises UsageError.
    """
    _remove_left_behind(commits.root)
    prefix = f"{_PREFIX}{socket.gethostname()}-{os.getpid()}-"
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    trees = WorkTrees(folder, folder / "base", folder / "head")
    sides = ((trees.base, commits.base), (trees.head, commits.head))
    made: list[tuple[Path, Path]] = []
    guardian.start()
    with unfinished(str(folder)):
        try:
            with guardian.watched("forget", str(commits.root), str(folder)):
                for target, commit in sides:
                    _check_out(
                        commits.root,
                        commit,
                        target,
                        made,
                    )
                    for link in links:
                        _link(commits.root / link, target / link)
                yield trees
        finally:
            with undisturbed():
                guardian.remove(str(folder))
                for repository, target in reversed(made):
                    _forget(repository, target)


def environment_of(
    commits: Commits,
    tree: Path,
    environment: Mapping[str, str],
) -> dict[str, str]:
    """The same environment in a work tree: PYTHONPATH's places in the checkout are the
    work tree's.
    """
    places = environment.get("PYTHONPATH", "").split(os.pathsep)
    moved = [_moved(place, commits.root, tree) for place in places]
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(moved),
        "PWD": str(tree / commits.inside),
    }


def _moved(
    place: str,
    root: Path,
    tree: Path,
) -> str:
    if not Path(place).is_relative_to(root):
        return place
    return str(tree / Path(place).relative_to(root))


def _check_out(
    repository: Path,
    commit: str,
    target: Path,
    made: list[tuple[Path, Path]],
) -> None:
    """One work tree, and below it those of the submodules that the repository has
    checked out itself.
    """
    with undisturbed():
        made.append((repository, target))
        git(
            repository,
            "worktree",
            "add",
            "--quiet",
            "--detach",
            str(target),
            commit,
        )
    for entry in git(repository, "ls-tree", "-r", "-z", commit).split("\0"):
        about, _, name = entry.partition("\t")
        inner = repository / name
        if not about.startswith(_SUBMODULE) or not (inner / ".git").exists():
            continue
        pinned = about.rpartition(" ")[2]
        try:
            _check_out(
                inner,
                pinned,
                target / name,
                made,
            )
        except GitRefused as error:
            remedy = f"Fetch it: `git -C {name} fetch origin {pinned}`."
            raise UsageError(
                f"the submodule {name} has no commit {pinned[:9]} ({error.said}). "
                f"{remedy}"
            ) from error


def _link(source: Path, target: Path) -> None:
    if not source.exists():
        raise UsageError(f"--link: {source} is not there.")
    if target.exists():
        raise UsageError(
            f"--link: {source} is tracked by git, so that both work trees have their "
            "own."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source.resolve())


def _forget(repository: Path, target: Path) -> None:
    """Git's own note of a work tree that is gone."""
    with suppress(UsageError):
        git(
            repository,
            "worktree",
            "remove",
            "--force",
            str(target),
        )


def _remove_left_behind(root: Path) -> None:
    """Work trees of a run that was killed. Those of other machines, which may share the
    repository, stay.
    """
    for line in git(root, "worktree", "list", "--porcelain").splitlines():
        if not line.startswith("worktree "):
            continue
        tree = Path(line.removeprefix("worktree "))
        owner = _OURS.match(tree.parent.name)
        if owner is None or owner[1] != socket.gethostname():
            continue
        if not lives(int(owner[2])):
            guardian.remove(str(tree.parent))
            _forget(root, tree)
