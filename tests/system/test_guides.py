"""The architecture guides, performed: each change works, and touches the files that its
guide names and no other.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.guides import Change, changes, perform, section

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "architecture"
COPIED = (
    "tfadvisor",
    "rules",
    "docs",
    "web/src",
    "web/test",
    "tests/support",
    "tests/unit/metrics",
    "tests/unit/report",
    "tests/unit/timeline/names",
)
FIXTURE = ROOT / "fixtures" / "jax-logging"

pytestmark = pytest.mark.slow


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The parts of the checkout that guides change or that read them, as an importable
    tree of its own.
    """
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "*.svg", "pictures")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    (tmp_path / "tfadvisor" / "rules").symlink_to("../rules")
    (tmp_path / "fixtures").symlink_to(
        ROOT / "fixtures"
    )  # which rules name as their proof
    run(tmp_path, "docs/generate.py")
    return tmp_path


def run(tree: Path, *call: str) -> str:
    """A Python command in a tree, with the tree's tfadvisor. Returns what it printed,
    and fails as the command fails.
    """
    places = {
        "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'tests'}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, *call],
        cwd=tree,
        env={**os.environ, **places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def analyze(tree: Path, *options: str) -> str:
    return run(tree, "-m", "tfadvisor", "analyze", str(FIXTURE), *options)


CONFIG_SCHEMA = "schemas/tfadvisor-toml-1.json"
"""Names all metrics and rules, for editors."""


def pytest_in(tree: Path, *files: str) -> str:
    return run(
        tree,
        "-m",
        "pytest",
        "--verbosity=0",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *files,
    )


def files_of(tree: Path) -> dict[str, bytes]:
    found = (
        path
        for path in tree.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in found}


def followed(tree: Path, *steps: Change) -> set[str]:
    """The files that differ after a guide's changes and `make docs`."""
    before = files_of(tree)
    for one in steps:
        perform(one, tree)
    run(tree, "docs/generate.py")
    after = files_of(tree)
    return {
        name
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }


def guide(name: str, heading: str | None = None) -> list[Change]:
    text = (GUIDES / f"{name}.md").read_text("utf-8")
    return changes(section(text, heading) if heading else text)


def named(*steps: Change) -> set[str]:
    return {one.path for one in steps}


GENERATED = ("docs/reference/", "schemas/", "web/src/data/generated.ts")
MOST = 4
"""Files that one of these changes may touch by hand, outside of tests."""


def by_hand(touched: set[str]) -> set[str]:
    return {name for name in touched if not name.startswith(("tests/", *GENERATED))}


def test_a_metric_and_its_rule(copy: Path) -> None:
    metric, rule = (
        guide("add-a-metric", "From events"),
        guide("add-a-rule", "On a metric"),
    )

    touched = followed(copy, *metric, *rule)

    pages = {"metrics.md", "rules.md"}
    assert touched == named(*metric, *rule) | {
        f"docs/reference/{page}" for page in pages
    } | {CONFIG_SCHEMA}
    assert len(by_hand(touched)) <= MOST
    assert "2 passed" in pytest_in(copy, "tests/unit/metrics/test_slowest_step.py")
    assert '"slowest_step_ratio"' in analyze(copy, "--format", "json")
    run(copy, "-m", "tfadvisor", "rules", "check", "rules")
    assert "several times as long" in run(
        copy, "-m", "tfadvisor", "explain", "one-step-far-longer"
    )


def test_a_signal(copy: Path) -> None:
    """With a rule on it, which has two files more."""
    signal, rule = guide("add-a-signal"), guide("add-a-rule", "On a signal")

    touched = followed(copy, *signal)

    assert touched == named(*signal) | {"docs/reference/metrics.md", CONFIG_SCHEMA}
    assert len(by_hand(touched)) <= MOST
    assert "2 passed" in pytest_in(copy, "tests/unit/metrics/test_reversals.py")
    assert followed(copy, *rule) == named(*rule) | {
        "docs/reference/rules.md",
        CONFIG_SCHEMA,
    }
    run(copy, "-m", "tfadvisor", "rules", "check", "rules")


def test_an_output_format(copy: Path) -> None:
    steps = guide("add-an-output")

    touched = followed(copy, *steps)

    assert touched == named(*steps) | {"docs/reference/command.md"}
    assert len(by_hand(touched)) <= MOST
    assert "1 passed" in pytest_in(copy, "tests/unit/report/forms/test_csv_text.py")
    rows = analyze(copy, "--format", "csv").splitlines()
    assert rows[0].startswith("rule,severity,")
    assert rows[1].startswith("host-work-in-loop,critical,")


def test_a_column_on_the_page(copy: Path) -> None:
    """Without Node the built page stays as it is; `make page` writes it."""
    steps = guide("add-a-column")

    touched = followed(copy, *steps)

    assert touched == named(*steps) | {"web/src/data/generated.ts"}
    assert len(by_hand(touched)) <= MOST
    assert "1 passed" in pytest_in(copy, "tests/unit/report/forms/test_longest_step.py")


def test_a_wrong_class_of_a_host_event(copy: Path) -> None:
    names, test = guide("correct-a-name")

    perform(test, copy)
    with pytest.raises(AssertionError, match="DrainQueue"):
        pytest_in(copy, test.path)
    touched = followed(copy, names)

    assert touched == {names.path}
    assert " passed" in pytest_in(copy, test.path)


def test_a_guide_that_no_longer_fits_the_tree_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("a = 1\nb = 2\n")

    with pytest.raises(ValueError, match="0 places"):
        perform(Change("one.py", True, " a = 3\n+c = 4\n"), tmp_path)


def test_every_file_that_a_guide_names_is_there_or_made_by_it() -> None:
    made = {
        one.path
        for page in GUIDES.glob("*.md")
        for one in changes(page.read_text("utf-8"))
        if not one.is_hunk
    }
    patched = {
        one.path
        for page in GUIDES.glob("*.md")
        for one in changes(page.read_text("utf-8"))
        if one.is_hunk
    }

    assert not [path for path in patched if not (ROOT / path).exists()]
    assert not [path for path in made if (ROOT / path).exists()]
