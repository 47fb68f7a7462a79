"""Which commit and branch a run is of, as CI or git says, and which branch's runs it is measured against."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tfadvisor.errors import UsageError
from tfadvisor.git import git

_COMMIT = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILD_SOURCEVERSION")
_BRANCH = (
    "GITHUB_HEAD_REF",
    "GITHUB_REF_NAME",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
    "CI_COMMIT_REF_NAME",
    "CHANGE_BRANCH",
    "GIT_BRANCH",
    "BUILD_SOURCEBRANCHNAME",
)
_TARGET = ("GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "CHANGE_TARGET")
_USUAL = ("main", "master")
_LONGEST = 200
_HASH = re.compile("[0-9a-f]{7,64}")


class Origin(msgspec.Struct, frozen=True):
    """Where a run comes from."""

    commit: str = ""
    """Its hash; "" when unknown."""
    branch: str = ""
    """"" when unknown; such a run counts for every branch."""
    machine: str = ""
    """Names of its hosts."""


def commit_and_branch(environment: Mapping[str, str], folder: Path) -> tuple[str, str]:
    """As CI says, else as git says of a folder; "" for what neither knows."""
    commit = _first(environment, _COMMIT) or _git(folder, "rev-parse", "HEAD")
    branch = _first(environment, _BRANCH) or _git(folder, "symbolic-ref", "--short", "-q", "HEAD")
    return commit if _HASH.fullmatch(commit) else "", branch.removeprefix("origin/")[:_LONGEST]


def branches_to_ask(environment: Mapping[str, str], own: str) -> tuple[str, ...]:
    """Whose runs make the baseline, best first: the branch that is merged into, one's own, then the usual ones."""
    found = (_first(environment, _TARGET).removeprefix("origin/"), own, *_USUAL)
    return tuple(dict.fromkeys(one for one in found if one))


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _git(folder: Path, *arguments: str) -> str:
    """What git prints; "" without git, without a repository, or after two seconds."""
    try:
        return git(folder, *arguments, seconds=2)
    except UsageError:
        return ""
