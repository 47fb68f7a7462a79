"""Which commit and branch a run is of, and which branch's runs it is measured against."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.made_runs import snapshot

from tfadvisor.comparison.baseline.snapshot import Origin, Snapshot, branches_to_ask, choose, commit_and_branch
from tfadvisor.comparison.baseline.store import accept, add, read_store

HASH = "0123456789abcdef0123456789abcdef01234567"


def of(branch: str, ms: float = 100.0, day: int = 1) -> Snapshot:
    made = snapshot(ms, recorded_at=f"2026-01-{day:02d}T00:00:00+00:00")
    return replace(made, origin=Origin(branch=branch))


@pytest.mark.parametrize(
    ("environment", "branch"),
    [
        ({"GITHUB_SHA": HASH, "GITHUB_REF_NAME": "main", "GITHUB_HEAD_REF": ""}, "main"),
        ({"GITHUB_SHA": HASH, "GITHUB_REF_NAME": "7/merge", "GITHUB_HEAD_REF": "faster"}, "faster"),
        ({"CI_COMMIT_SHA": HASH, "CI_COMMIT_REF_NAME": "release-2"}, "release-2"),
        ({"GIT_COMMIT": HASH, "GIT_BRANCH": "origin/main"}, "main"),
    ],
)
def test_ci_says_what_it_runs(environment: dict[str, str], branch: str, tmp_path: Path) -> None:
    assert commit_and_branch(environment, tmp_path) == (HASH, branch)


def test_elsewhere_git_says_it(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q", "-b", "trunk"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)

    commit, branch = commit_and_branch({}, tmp_path)

    assert (len(commit), branch) == (40, "trunk")


def test_without_either_nothing_is_known(tmp_path: Path) -> None:
    assert commit_and_branch({"GITHUB_SHA": "no hash", "GIT_CEILING_DIRECTORIES": "/"}, tmp_path / "gone") == ("", "")


def test_the_branch_that_is_merged_into_comes_first() -> None:
    assert branches_to_ask({"GITHUB_BASE_REF": "release-2"}, "faster") == ("release-2", "faster", "main", "master")
    assert branches_to_ask({}, "main") == ("main", "master")
    assert branches_to_ask({}, "") == ("main", "master")


def test_a_run_is_measured_against_one_branch() -> None:
    stored = [of("main", 100), of("release-2", 80), of("main", 101), of("", 102)]
    new = of("faster", 90)

    against_main = choose(stored, [new], 10, ("main", "faster"))
    against_all = choose(stored, [new], 10, ("unknown",))

    assert [run.side.median_ms for run in against_main.runs] == [100, 101, 102]
    assert against_main.notices == ("Measured against the runs of branch main.",)
    assert len(against_all.runs) == 4
    assert choose(stored, [of("release-2", 90)], 10, ("release-2",)).notices == ()


def test_a_busy_branch_drives_no_other_out(tmp_path: Path) -> None:
    for day in range(1, 4):
        add(tmp_path, [of("main", 100 + day, day), of("faster", 50 + day, day)], 2)

    kept = [(one.snapshot.origin.branch, one.snapshot.side.median_ms) for one in read_store(tmp_path).runs]

    assert sorted(kept) == [("faster", 52), ("faster", 53), ("main", 102), ("main", 103)]


def test_a_change_that_is_accepted_on_a_branch_is_a_level_of_what_it_is_merged_into(tmp_path: Path) -> None:
    add(tmp_path, [of("main", 100, 1)], 10)
    accept(tmp_path, [of("faster", 150, 2)], 10, "more layers", ("main", "faster"))

    last = read_store(tmp_path).runs[-1].snapshot

    assert (last.origin.branch, last.level, last.note) == ("main", 1, "more layers")


def test_a_run_of_no_known_branch_begins_a_level_after_all_others(tmp_path: Path) -> None:
    add(tmp_path, [of("release-2", 100, 1)], 10)
    accept(tmp_path, [of("", 150, 2)], 1, "more layers", ("main",))

    kept = [(one.snapshot.origin.branch, one.snapshot.level) for one in read_store(tmp_path).runs]

    assert kept == [("release-2", 0), ("", 1)]
