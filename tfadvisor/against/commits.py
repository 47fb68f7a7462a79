"""Which two commits are set against each other: the named one, and what is checked out with its uncommitted changes."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.git import GitRefused, git


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
    """The commit that is checked out, or one of it and its uncommitted changes, which no branch knows."""
    changed: tuple[str, ...]
    """Tracked files with uncommitted changes."""
    untracked: tuple[str, ...]
    """Files that git neither tracks nor ignores: in neither work tree."""

    @property
    def base_name(self) -> str:
        """`main 1a2b3c4`."""
        return self.base[:9] if self.base.startswith(self.ref) else f"{self.ref} {self.base[:9]}"

    @property
    def head_name(self) -> str:
        """`HEAD 1a2b3c4`, with a plus where uncommitted changes are in it."""
        return f"HEAD {git(self.root, 'rev-parse', 'HEAD')[:9]}{'+' if self.changed else ''}"

    @property
    def same(self) -> bool:
        """Whether both hold the same files."""
        return len({git(self.root, "rev-parse", f"{one}^{{tree}}") for one in (self.base, self.head)}) == 1


def commits_of(folder: Path, ref: str) -> Commits:
    """The commits of the repository that the folder is in. Raises UsageError for what cannot be checked out."""
    try:
        root = Path(git(folder, "rev-parse", "--show-toplevel"))
    except GitRefused as error:
        raise UsageError(f"--against {ref}: {folder} is in no git checkout ({error.said}).") from error
    base = _commit(root, ref)
    try:
        head = git(root, "rev-parse", "--verify", "HEAD^{commit}")
    except GitRefused as error:
        raise UsageError(f"--against {ref}: the repository has no commit yet.") from error
    changed, untracked = _state(root)
    if changed:
        head = git(root, "stash", "create") or head
    inside = git(folder, "rev-parse", "--show-prefix").rstrip("/")
    return Commits(root, inside, ref, base, head, changed, untracked)


def _commit(root: Path, ref: str) -> str:
    try:
        return git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    except GitRefused as error:
        if git(root, "rev-parse", "--is-shallow-repository") == "true":
            remedy = f"The clone is shallow: fetch it, as with `git fetch --depth 1 origin {ref}`, and name FETCH_HEAD."
        else:
            known = git(root, "for-each-ref", "--format=%(refname:short)").splitlines()
            remedy = did_you_mean(ref, known).strip() or "`git fetch` may bring it."
        raise UsageError(f"--against {ref}: no commit is called so in {root}. {remedy}") from error


def _state(root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(tracked files that are changed, untracked ones). Raises UsageError for changes that no commit can hold."""
    changed, untracked = [], []
    entries = iter(git(root, "status", "--porcelain=v2", "-z", "--ignore-submodules=untracked").split("\0"))
    for entry in entries:
        kind, _, rest = entry.partition(" ")
        if kind == "?":
            untracked.append(rest)
        elif kind == "u":
            raise UsageError(f"{rest.split(' ', 9)[-1]} has conflicts that are not resolved. Resolve them first.")
        elif kind in ("1", "2"):
            fields = rest.split(" ", 7 if kind == "1" else 8)
            if fields[1].startswith("S") and "M" in fields[1]:
                raise UsageError(f"the submodule {fields[-1]} has uncommitted changes. Commit them there first.")
            changed.append(fields[-1])
            if kind == "2":
                next(entries)  # the name before
    return tuple(changed), tuple(untracked)
