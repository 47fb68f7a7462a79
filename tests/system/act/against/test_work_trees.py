"""What is checked out, and that nothing of it stays."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from support.repositories import Repository

from tfadvisor.act.against.work_trees import commits_of, environment_of, work_trees
from tfadvisor.errors import UsageError


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "checkout")
    (made.folder / "model.py").write_text("width = 1\n")
    made.commit("narrow")
    (made.folder / "model.py").write_text("width = 2\n")
    made.commit("wide")
    return made


def test_both_commits_are_checked_out_and_gone_afterwards(
    repository: Repository,
) -> None:
    with work_trees(commits_of(repository.folder, "HEAD~1")) as trees:
        texts = [(tree / "model.py").read_text() for tree in (trees.base, trees.head)]

    assert texts == ["width = 1\n", "width = 2\n"]
    assert not trees.folder.exists()
    assert repository.is_left_alone()


def test_uncommitted_changes_are_in_the_head_and_stay_as_they_are(
    repository: Repository,
) -> None:
    (repository.folder / "model.py").write_text("width = 3\n")
    (repository.folder / "new.txt").write_text("nobody tracks this")
    before = repository.git("status", "--porcelain")
    commits = commits_of(repository.folder, "HEAD")

    with work_trees(commits) as trees:
        texts = [(tree / "model.py").read_text() for tree in (trees.base, trees.head)]
        assert not (trees.head / "new.txt").exists()

    assert texts == ["width = 2\n", "width = 3\n"]
    assert commits.changed == ("model.py",)
    assert commits.head_name.endswith("+")
    assert repository.git("status", "--porcelain") == before
    assert repository.git("stash", "list") == ""


def test_the_head_holds_what_is_staged_removed_and_new(repository: Repository) -> None:
    """As the next commit would, with the files of the work tree."""
    for name in ("gone", "untracked", "staged"):
        (repository.folder / name).write_text("old")
    repository.commit("more files")
    (repository.folder / "gone").unlink()
    repository.git("rm", "--quiet", "--cached", "untracked")
    (repository.folder / "staged").write_text("staged")
    (repository.folder / "added").write_text("added")
    repository.git("add", "staged", "added")

    with work_trees(commits_of(repository.folder, "HEAD")) as trees:
        found = {file.name for file in trees.head.iterdir()}
        staged = (trees.head / "staged").read_text()

    assert found == {".git", "train.py", "model.py", "staged", "added"}
    assert staged == "staged"


def test_names_are_what_a_reader_knows(repository: Repository) -> None:
    commit = repository.git("rev-parse", "HEAD~1")

    assert commits_of(repository.folder, "HEAD~1").base_name == f"HEAD~1 {commit[:9]}"
    assert commits_of(repository.folder, commit[:12]).base_name == commit[:9]
    assert not commits_of(repository.folder, "HEAD~1").same
    assert commits_of(repository.folder, "main").same


def test_a_mistyped_branch_is_guessed(repository: Repository) -> None:
    with pytest.raises(
        UsageError,
        match=r"--against mian: no commit is called so in .*checkout\. Did you mean main\?$",
    ):
        commits_of(repository.folder, "mian")


def test_a_shallow_clone_says_how_to_fetch(
    repository: Repository, tmp_path: Path
) -> None:
    repository.git(
        "clone",
        "--quiet",
        "--depth",
        "1",
        f"file://{repository.folder}",
        str(tmp_path / "shallow"),
    )

    with pytest.raises(
        UsageError,
        match="The clone is shallow: fetch it, as with `git fetch --depth 1 origin v1`",
    ):
        commits_of(tmp_path / "shallow", "v1")


@pytest.mark.parametrize("ref", ["--upload-pack=x", "-h", ""])
def test_no_option_of_git_is_a_commit(repository: Repository, ref: str) -> None:
    with pytest.raises(UsageError, match="no commit is called so"):
        commits_of(repository.folder, ref)


def test_outside_of_a_checkout(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is in no git checkout"):
        commits_of(tmp_path, "main")


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no commit"):
        commits_of(Repository(tmp_path / "new").folder, "HEAD")


def test_conflicts_are_resolved_first(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "other", "HEAD~1")
    (repository.folder / "model.py").write_text("width = 9\n")
    repository.commit("wider")
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("merge", "--quiet", "main")

    with pytest.raises(UsageError, match=r"model\.py has conflicts"):
        commits_of(repository.folder, "main")


def with_submodule(repository: Repository, tmp_path: Path) -> Repository:
    """`lib` in the repository, a checkout of another one. Returns that, as it lies in
    the first.
    """
    origin = Repository(tmp_path / "origin")
    (origin.folder / "lib.py").write_text("speed = 1\n")
    origin.commit("first")
    repository.git("submodule", "--quiet", "add", str(origin.folder), "lib")
    repository.commit("with a library")
    inner = Repository.__new__(Repository)
    inner.folder = repository.folder / "lib"
    return inner


def test_submodules_come_as_each_commit_pins_them(
    repository: Repository, tmp_path: Path
) -> None:
    inner = with_submodule(repository, tmp_path)
    (inner.folder / "lib.py").write_text("speed = 2\n")
    inner.commit("faster")
    repository.commit("with the faster library")

    with work_trees(commits_of(repository.folder, "HEAD~1")) as trees:
        texts = [
            (tree / "lib" / "lib.py").read_text() for tree in (trees.base, trees.head)
        ]

    assert texts == ["speed = 1\n", "speed = 2\n"]
    assert repository.is_left_alone()
    assert inner.git("worktree", "list").count("\n") == 0


def test_a_submodule_that_is_not_checked_out_stays_empty(
    repository: Repository, tmp_path: Path
) -> None:
    with_submodule(repository, tmp_path)
    repository.git("submodule", "--quiet", "deinit", "--force", "lib")

    with work_trees(commits_of(repository.folder, "HEAD")) as trees:
        assert list((trees.head / "lib").iterdir()) == []


def test_a_submodule_without_the_commit_says_how_to_fetch_it(
    repository: Repository, tmp_path: Path
) -> None:
    with_submodule(repository, tmp_path)
    missing = "1234567890" * 4
    repository.git("update-index", "--cacheinfo", f"160000,{missing},lib")
    repository.git("commit", "--quiet", "--message", "pins what nobody has")

    with (
        pytest.raises(
            UsageError,
            match="the submodule lib has no commit 123456789 .*`git -C lib fetch origin "
            f"{missing}`",
        ),
        work_trees(commits_of(repository.folder, "HEAD")),
    ):
        pass

    assert repository.is_left_alone()


def test_changes_inside_a_submodule_are_committed_first(
    repository: Repository, tmp_path: Path
) -> None:
    inner = with_submodule(repository, tmp_path)
    (inner.folder / "lib.py").write_text("speed = 3\n")

    with pytest.raises(UsageError, match="the submodule lib has uncommitted changes"):
        commits_of(repository.folder, "HEAD")


def test_links_bring_what_git_does_not_track(repository: Repository) -> None:
    (repository.folder / "data" / "small").mkdir(parents=True)
    (repository.folder / "data" / "small" / "one.txt").write_text("1")

    with work_trees(commits_of(repository.folder, "HEAD~1"), ["data/small"]) as trees:
        texts = [
            (tree / "data" / "small" / "one.txt").read_text()
            for tree in (trees.base, trees.head)
        ]

    assert texts == ["1", "1"]
    assert (repository.folder / "data" / "small" / "one.txt").exists()


@pytest.mark.parametrize(
    ("link", "why"), [("nothing", "is not there"), ("model.py", "is tracked by git")]
)
def test_links_to_nothing_and_to_tracked_files(
    repository: Repository, link: str, why: str
) -> None:
    with (
        pytest.raises(UsageError, match=why),
        work_trees(commits_of(repository.folder, "HEAD~1"), [link]),
    ):
        pass

    assert repository.is_left_alone()


def test_an_error_inside_leaves_nothing(repository: Repository) -> None:
    with (
        pytest.raises(RuntimeError),
        work_trees(commits_of(repository.folder, "HEAD~1")) as trees,
    ):
        raise RuntimeError

    assert not trees.folder.exists()
    assert repository.is_left_alone()


def test_what_a_killed_run_left_is_removed(
    repository: Repository, tmp_path: Path
) -> None:
    """A process that is gone; one that lives, ours; and one of another machine."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    here = socket.gethostname()
    left, living, elsewhere = (
        tmp_path / f"tfadvisor-against-{name}-x"
        for name in (
            f"{here}-{ended.pid}",
            f"{here}-{os.getpid()}",
            f"not{here}-{ended.pid}",
        )
    )
    for folder in (left, living, elsewhere):
        repository.git("worktree", "add", "--quiet", "--detach", str(folder / "base"))

    with work_trees(commits_of(repository.folder, "HEAD")):
        pass

    assert [folder.exists() for folder in (left, living, elsewhere)] == [
        False,
        True,
        True,
    ]
    assert str(left) not in repository.git("worktree", "list")


def test_no_hook_of_the_repository_runs(repository: Repository, tmp_path: Path) -> None:
    hook = repository.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)

    with work_trees(commits_of(repository.folder, "HEAD")):
        pass

    assert not (tmp_path / "ran").exists()


def test_modules_come_from_the_work_tree(repository: Repository) -> None:
    root, outside = repository.folder, "/somewhere"
    commits = commits_of(root, "HEAD")

    found = environment_of(
        commits,
        Path("/tree"),
        {"PYTHONPATH": os.pathsep.join([f"{root}/src", outside, "lib"])},
    )

    assert found["PYTHONPATH"] == os.pathsep.join(["/tree/src", outside, "lib"])


def test_a_file_that_is_only_announced_is_added_first(repository: Repository) -> None:
    """`git stash create` cannot hold what `git add -N` announces, and says neither
    which file that is nor what to do.
    """
    (repository.folder / "new.py").write_text("width = 3\n")
    repository.git("add", "-N", "new.py")

    with pytest.raises(
        UsageError,
        match=r"^new\.py is announced by `git add -N` alone\. Add it: `git add new\.py`\.$",
    ):
        commits_of(repository.folder, "HEAD")
