"""Git as tfadvisor asks it: of the repository that a file lies in, by literal names,
and without running what it configures.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tfadvisor.act.against.work_trees import commits_of, work_trees
from tfadvisor.act.repair.applying import check_clean
from tfadvisor.act.repair.sources import Sources, read_sources
from tfadvisor.comparison.baseline.snapshot import commit_and_branch
from tfadvisor.errors import UsageError
from tfadvisor.git import GitRefused, git

PROGRAM = "import jax\nx = 1\n"


def plain(folder: Path, *arguments: str) -> str:
    """Git as a user runs it."""
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_")
    }
    return subprocess.run(
        ["git", *name, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(PROGRAM)
    plain(folder, "init", "-q", "-b", "main")
    plain(folder, "add", ".")
    plain(folder, "commit", "-qm", "a program")
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


@pytest.fixture
def sign(tmp_path: Path) -> Path:
    """A file that is there once a program of the repository's has run."""
    return tmp_path / "ran"


def program(sign: Path) -> str:
    """A program that leaves its sign, and hands on what it is given."""
    script = sign.with_name("program.sh")
    script.write_text(f"#!/bin/sh\ntouch {sign}\ncat\n")
    script.chmod(0o755)
    return str(script)


def filtered(place: Path, sign: Path, name: str) -> None:
    """All files go through a filter of the repository's, and git has to look into
    train.py again.
    """
    (place / ".gitattributes").write_text(
        f'* "filter={name}"\n' if " " in name else f"* filter={name}\n"
    )
    plain(place, "add", ".")
    plain(place, "commit", "-qm", "filtered")
    for one in ("clean", "smudge"):
        plain(place, "config", f"filter.{name}.{one}", program(sign))
    plain(place, "config", f"filter.{name}.required", "true")
    os.utime(place / "train.py", (1, 1))


def checked(place: Path, name: str = "train.py") -> Sources:
    sources = read_sources(place)
    check_clean(sources, (name,))
    return sources


def test_a_clean_work_tree_passes(place: Path) -> None:
    assert [one.name for one in checked(place).files] == ["train.py"]


def test_a_filter_of_the_repository_does_not_run(place: Path, sign: Path) -> None:
    filtered(place, sign, "evil")

    assert git(place, "status", "--porcelain") == ""
    checked(place)
    assert not sign.exists()

    plain(place, "status", "--porcelain")
    assert sign.exists()  # what plain git does


def test_a_filter_of_one_work_tree_does_not_run(place: Path, sign: Path) -> None:
    filtered(place, sign, "evil")
    plain(place, "config", "extensions.worktreeConfig", "true")
    plain(place, "config", "--worktree", "filter.other.clean", program(sign))
    (place / ".gitattributes").write_text("* filter=other\n")

    assert git(place, "status", "--porcelain").strip() == "M .gitattributes"
    assert not sign.exists()


def test_a_filter_from_an_included_file_does_not_run(
    place: Path, sign: Path, tmp_path: Path
) -> None:
    (place / ".gitattributes").write_text("* filter=evil\n")
    plain(place, "add", ".")
    plain(place, "commit", "-qm", "filtered")
    (tmp_path / "more").write_text(f'[filter "evil"]\n\tclean = {program(sign)}\n')
    plain(place, "config", "include.path", str(tmp_path / "more"))
    os.utime(place / "train.py", (1, 1))

    checked(place)

    assert not sign.exists()


def test_a_filter_that_cannot_be_switched_off_is_refused(
    place: Path, sign: Path
) -> None:
    plain(place, "config", "filter.a=b.clean", program(sign))

    with pytest.raises(UsageError, match="cannot be switched off"):
        git(place, "status", "--porcelain")


def test_neither_a_monitor_of_files_nor_a_hook_runs(
    place: Path, sign: Path, tmp_path: Path
) -> None:
    plain(place, "config", "core.fsmonitor", program(sign))
    hook = place / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {sign}\n")
    hook.chmod(0o755)

    checked(place)
    git(place, "worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), "HEAD")

    assert (tmp_path / "tree" / "train.py").read_text() == PROGRAM
    assert not sign.exists()


def test_no_filter_of_a_submodule_runs(place: Path, sign: Path, tmp_path: Path) -> None:
    """Its configuration is its own, and git asks it when it looks into it."""
    library = repository(tmp_path / "library")
    (library / ".gitattributes").write_text("* filter=evil\n")
    plain(library, "add", ".")
    plain(library, "commit", "-qm", "filtered")
    allowed = ("-c", "protocol.file.allow=always")
    plain(place, *allowed, "submodule", "--quiet", "add", str(library), "lib")
    plain(place, "commit", "-qm", "with a library")
    for setting in ("clean", "smudge"):
        plain(place / "lib", "config", f"filter.evil.{setting}", program(sign))
    plain(place, "config", "submodule.lib.ignore", "none")
    (place / "lib" / "train.py").write_text("import jax\nx = 2\n")  # of the same size

    checked(place)
    assert not sign.exists()
    with pytest.raises(UsageError, match="lib has uncommitted changes"):
        commits_of(place, "HEAD")
    plain(place / "lib", "-c", "filter.evil.clean=cat", "commit", "-qam", "more")
    (place / "train.py").write_text(PROGRAM + "# mine\n")
    with work_trees(commits_of(place, "HEAD")) as trees:
        texts = [
            (tree / "lib" / "train.py").read_text() for tree in (trees.base, trees.head)
        ]

    assert texts == [PROGRAM, "import jax\nx = 2\n"]
    assert not sign.exists()


def test_no_filter_runs_that_is_configured_for_work_trees_alone(
    place: Path, sign: Path
) -> None:
    (place / ".gitattributes").write_text("* filter=evil\n")
    plain(place, "add", ".")
    plain(place, "commit", "-qm", "filtered")
    more = place / ".git" / "more"
    more.write_text(f'[filter "evil"]\n\tsmudge = {program(sign)}\n')
    plain(place, "config", "includeIf.gitdir:**/worktrees/**.path", str(more))

    with work_trees(commits_of(place, "HEAD")) as trees:
        assert (trees.base / "train.py").read_text() == PROGRAM
    assert not sign.exists()

    plain(place, "worktree", "add", "--quiet", str(sign.with_name("tree")))
    assert sign.exists()  # what plain git does


def test_what_a_hook_inherits_names_no_other_repository(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = repository(tmp_path / "other")
    (other / "more.py").write_text(PROGRAM)
    plain(other, "add", ".")
    plain(other, "commit", "-qm", "more")
    (place / "train.py").write_text(PROGRAM + "# mine\n")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))

    with pytest.raises(UsageError, match="has changes"):
        checked(place)
    assert commit_and_branch({}, place)[0] == plain(place, "rev-parse", "HEAD").strip()


def test_variables_that_configure_git_do_not_count(
    place: Path, sign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "status.showUntrackedFiles")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "no")
    (place / "new.txt").write_text("")

    assert git(place, "status", "--porcelain") == "?? new.txt"


def test_a_name_is_no_pattern(place: Path) -> None:
    (place / "[t]rain.py").write_text(PROGRAM)

    with pytest.raises(UsageError, match="is not added"):
        checked(place, "[t]rain.py")


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_file_whose_changes_git_overlooks_is_refused(place: Path, flag: str) -> None:
    plain(place, "update-index", flag, "train.py")
    (place / "train.py").write_text(PROGRAM + "# mine\n")

    with pytest.raises(UsageError, match="overlook"):
        checked(place)


def test_a_file_counts_in_the_repository_that_it_lies_in(place: Path) -> None:
    """A repository inside another one: the outer one neither knows the file nor its
    changes.
    """
    (place / ".gitignore").write_text("inner/\n")
    plain(place, "add", ".")
    plain(place, "commit", "-qm", "ignores")
    inner = repository(place / "inner")

    checked(place, "inner/train.py")
    (inner / "train.py").write_text(PROGRAM + "# mine\n")
    with pytest.raises(UsageError, match="has changes"):
        checked(place, "inner/train.py")


def test_what_git_says_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(GitRefused, match="not a git repository"):
        git(tmp_path, "rev-parse", "HEAD")
