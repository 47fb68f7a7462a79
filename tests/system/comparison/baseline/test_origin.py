"""Which commit and branch a run is of."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tfadvisor.comparison.baseline.snapshot import commit_and_branch

HASH = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("environment", "branch"),
    [
        (
            {"GITHUB_SHA": HASH, "GITHUB_REF_NAME": "main", "GITHUB_HEAD_REF": ""},
            "main",
        ),
        (
            {
                "GITHUB_SHA": HASH,
                "GITHUB_REF_NAME": "7/merge",
                "GITHUB_HEAD_REF": "faster",
            },
            "faster",
        ),
        ({"CI_COMMIT_SHA": HASH, "CI_COMMIT_REF_NAME": "release-2"}, "release-2"),
        ({"GIT_COMMIT": HASH, "GIT_BRANCH": "origin/main"}, "main"),
    ],
)
def test_ci_says_what_it_runs(
    environment: dict[str, str], branch: str, tmp_path: Path
) -> None:
    assert commit_and_branch(environment, tmp_path) == (HASH, branch)


def test_elsewhere_git_says_it(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q", "-b", "trunk"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)

    commit, branch = commit_and_branch({}, tmp_path)

    assert (len(commit), branch) == (40, "trunk")


def test_without_either_nothing_is_known(tmp_path: Path) -> None:
    assert commit_and_branch(
        {"GITHUB_SHA": "no hash", "GIT_CEILING_DIRECTORIES": "/"}, tmp_path / "gone"
    ) == ("", "")
