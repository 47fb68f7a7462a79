"""What CI and the action install: actions by commit, packages by version and hash,
nothing by a name alone.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from support.places import ROOT

WORKFLOWS = [
    *sorted((ROOT / ".github" / "workflows").glob("*.yml")),
    ROOT / "action.yml",
]
LOCKS = sorted((ROOT / ".ci" / "locks").glob("*.txt"))
OWN = re.compile(r"(-e )?(\.|from-sdist/\S+|dist/\S+)$")
"""This project itself."""


def steps_of(path: Path) -> list[dict[str, str]]:
    content = yaml.safe_load(path.read_text("utf-8"))
    jobs = content["jobs"].values() if "jobs" in content else [content["runs"]]
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_named_by_its_commit(path: Path) -> None:
    used = [step["uses"] for step in steps_of(path) if "uses" in step]

    assert used or path.name == "action.yml"  # the action itself needs no other
    assert [
        one for one in used if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", one)
    ] == []


def installs(path: Path) -> list[str]:
    """What follows `pip install` or `pip wheel` in each command of a script or
    workflow.
    """
    text = path.read_text("utf-8")
    return [
        one.strip()
        for one in re.findall(
            r"(?:pip|pip\"|pip'?) (?:install|wheel) ([^&|#\n]*)", text
        )
    ]


@pytest.mark.parametrize(
    "path", [*WORKFLOWS[:-1], ROOT / ".ci" / "run"], ids=lambda path: path.name
)
def test_ci_installs_by_hash_alone(path: Path) -> None:
    """Or this project itself, without what it needs, and built with what is there."""
    found = installs(path)
    assert found
    for one in found:
        by_hash = "--require-hashes" in one or "$locked" in one
        own = "--no-deps" in one and "--no-build-isolation" in one and OWN.search(one)
        assert by_hash or own, f"{path.name}: pip install {one}"
    assert 'locked="--quiet --require-hashes' in (ROOT / ".ci" / "run").read_text(
        "utf-8"
    )
    assert "pipx" not in path.read_text("utf-8")


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_locked_package_has_a_version_and_hashes(path: Path) -> None:
    blocks = re.split(r"^(?=[a-z])", path.read_text("utf-8"), flags=re.M)[1:]

    assert blocks
    for one in blocks:
        assert re.match(r"[a-z0-9.-]+(\[[a-z0-9,-]+\])?==[^ ]+ ", one), one[:80]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\n$", one), one[:80]
        assert "://" not in one


def test_the_lock_holds_what_the_project_needs() -> None:
    """Each dependency, and each of the extra `test`."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    needed = re.search(r"^dependencies = \[(.*?)^\]", text, re.M | re.S)
    tested = re.search(r"^test = \[(.*?)^\]", text, re.M | re.S)
    assert needed is not None and tested is not None
    names = {
        one.lower()
        for one in re.findall(r'^  "([A-Za-z0-9-]+)', needed[1] + tested[1], re.M)
    }
    locked = set(
        re.findall(
            r"^([a-z0-9.-]+)==",
            (ROOT / ".ci" / "locks" / "ci.txt").read_text("utf-8"),
            re.M,
        )
    )

    assert len(names) > 20
    assert names - locked == set()
