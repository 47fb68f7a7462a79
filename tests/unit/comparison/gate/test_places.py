"""Places in a verdict's outputs are files that are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from support.made_runs import QUIET, snapshot
from support.trace_builder import trace

from tfadvisor.comparison.baseline.snapshot import Baseline
from tfadvisor.comparison.gate.forms.ci import workflow_commands
from tfadvisor.comparison.gate.judge import judge
from tfadvisor.comparison.gate.places import files_below, with_places
from tfadvisor.comparison.gate.result import Check, GateResult, Outcome


def verdict(file: str, line: int = 0) -> GateResult:
    report = trace().step(0, 100).report()
    found = judge(QUIET, [report], [snapshot()], Baseline((), (), (), ()), today=None)  # type: ignore[arg-type]
    check = Check(
        "rule",
        "some-rule",
        "error",
        Outcome.FAIL,
        "It is slow.",
        file=file,
        file_line=7,
        line=line,
    )
    return replace(found, checks=(check,))


@pytest.mark.parametrize(
    ("named", "there", "place"),
    [
        ("train.py", ["train.py"], "train.py"),
        ("train.py", ["research/train.py"], "research/train.py"),
        ("research/train.py", ["research/train.py"], "research/train.py"),
        (
            "/home/ci/checkout/research/train.py",
            ["research/train.py", "old/train.py"],
            "research/train.py",
        ),
        ("train.py", ["a/train.py", "b/train.py"], ""),  # nobody knows which
        ("train.py", ["model.py"], ""),
        (
            "train.py",
            [".venv/train.py", "build/lib/train.py"],
            "",
        ),  # not the user's own
        ("/usr/lib/python3/site.py", ["train.py"], ""),
        ("../train.py", ["train.py"], ""),
        ("train.py", ["train.py/__init__.py"], ""),  # a folder
    ],
)
def test_a_file_is_found_or_is_none(
    tmp_path: Path, named: str, there: list[str], place: str
) -> None:
    for name in there:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    (check,) = with_places(verdict(named), tmp_path).checks

    assert (check.file, check.file_line) == (place, 7 if place else None)


def test_an_annotation_without_a_place_names_none(tmp_path: Path) -> None:
    assert workflow_commands(with_places(verdict("gone.py"), tmp_path)) == [
        "::error title=tfadvisor%3A some-rule::It is slow."
    ]


def test_the_line_of_the_configuration_where_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "tfadvisor.toml").touch()

    (told,) = workflow_commands(with_places(verdict("gone.py", line=3), tmp_path))

    assert told.startswith("::error file=tfadvisor.toml,line=3,")


def test_a_preset_has_no_file(tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()

    assert with_places(verdict("gone.py"), tmp_path).config == ""


def test_no_place_leads_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    for name in ("program.py", "project/src/program.py"):
        (tmp_path / name).touch()
    outside = [
        "../program.py",
        "src/../../program.py",
        str(tmp_path / "program.py"),
        "/etc/passwd",
        "..\\program.py",
        "/",
        ".",
        "x" * 5000,
        "a\0b",
    ]

    found = files_below(folder, [*outside, "program.py", "src/program.py"])

    assert {one: found[one] for one in outside} == dict.fromkeys(outside, "")
    assert found["program.py"] == found["src/program.py"] == "src/program.py"
