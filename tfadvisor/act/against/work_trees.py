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
from shutil import copyfile

import msgspec

from tfadvisor import guardian
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.files import temporary_folder, unfinished
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
        head = _commit_of(root, head, changed)
    inside = git(folder, "rev-parse", "--show-prefix").rstrip("/")
    return Commits(
        root,
        inside,
        ref,
        base,
        head,
        tuple(changed),
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


def _changed(root: Path) -> list[str]:
    """Tracked files, and submodules, that are changed. Raises UsageError for changes
    that no commit can hold.
    """
    changed = []
    for kind, fields in _status(root):
        name = fields[-1]
        if kind == "u":
            raise UsageError(
                f"{name} has conflicts that are not resolved. Resolve them first."
            )
        if fields[0] == ".A":
            raise UsageError(
                f"{name} is announced by `git add -N` alone. Add it: `git add {name}`."
            )
        changed.append(name)
    for name in _submodules(root):
        if _moved_on(root, name):
            changed.append(name)
    return changed


def _status(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Of changed files: `1`, `2` for a new name, or `u` for a conflict; the fields of
    git's second format, the name last. Git does not look into submodules.
    """
    printed = git(
        root,
        "status",
        "--porcelain=v2",
        "-z",
        "--untracked-files=no",
        "--ignore-submodules=all",
    )
    fields_before_name = {"1": 7, "2": 8, "u": 9}
    entries = iter(printed.split("\0"))
    for entry in entries:
        kind, _, rest = entry.partition(" ")
        if kind in fields_before_name:
            yield kind, rest.split(" ", fields_before_name[kind])
        if kind == "2":
            next(entries)  # the name before


def _submodules(root: Path) -> list[str]:
    """Those that are checked out, relative to root."""
    found = []
    for entry in git(root, "ls-files", "--stage", "-z").split("\0"):
        about, _, name = entry.partition("\t")
        if about.startswith(_SUBMODULE) and (root / name / ".git").exists():
            found.append(name)
    return found


def _moved_on(root: Path, name: str) -> bool:
    """Whether a submodule has another commit checked out than HEAD pins. Raises
    UsageError when it has changes that are not committed.
    """
    inner = root / name
    if _changed(inner):
        raise UsageError(
            f"the submodule {name} has uncommitted changes. Commit them there first."
        )
    try:
        return git(root, "rev-parse", f"HEAD:{name}") != git(inner, "rev-parse", "HEAD")
    except GitRefused:  # not in HEAD, or without a commit of its own
        return True


def _commit_of(root: Path, head: str, changed: Sequence[str]) -> str:
    """A commit on top of head that holds the changes, staged or not, and that no branch
    knows. `git stash create` would look into submodules.
    """
    index = Path(git(root, "rev-parse", "--git-path", "index"))
    files = ("diff-files", "--name-only", "-z", "--ignore-submodules=all")
    not_staged = git(root, *files).split("\0")
    not_staged += [name for name in _submodules(root) if name in changed]
    with temporary_folder() as folder:
        own = Path(folder) / "index"
        copyfile(root / index, own)
        git(
            root,
            "update-index",
            "--remove",
            "-z",
            "--stdin",
            index=own,
            given="\0".join(filter(None, not_staged)),
        )
        tree = git(root, "write-tree", index=own)
        return git(root, "commit-tree", tree, "-p", head, "-m", "uncommitted changes")


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
        add = ("worktree", "add", "--quiet", "--detach", "--no-checkout")
        git(repository, *add, str(target), commit)
        # asked in the work tree, where the configuration may name other filters
        git(target, "reset", "--quiet", "--hard", "--no-recurse-submodules")
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
