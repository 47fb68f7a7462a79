"""Which command lines are read without Typer: those that say no more than what to read
and where to write.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.cli.analyzing import Showing, plain_analysis


@pytest.mark.parametrize(
    ("line", "paths", "showing"),
    [
        ("analyze logs", ["logs"], Showing()),
        ("logs/", ["logs/"], Showing()),
        ("a.xplane.pb b.xplane.pb", ["a.xplane.pb", "b.xplane.pb"], Showing()),
        ("analyze logs --format json", ["logs"], Showing(format="json")),
        (
            "analyze -f html logs --details -o out.html",
            ["logs"],
            Showing(format="html", output=Path("out.html"), details=True),
        ),
    ],
)
def test_a_plain_line_is_read(line: str, paths: list[str], showing: Showing) -> None:
    assert plain_analysis(line.split()) == (paths, showing)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "logs",  # may be a command's name that is written wrongly
        "analyze",
        "analyze --format json",
        "analyze logs --format",
        "analyze logs --format xml",
        "analyze logs --format=json",
        "analyze logs -o -",
        "analyze logs --open",
        "analyze logs --steps 2:8",
        "analyze logs --help",
        "analyze -- logs",
        "compare logs/ others/",
        "--version",
    ],
)
def test_any_other_line_is_left_to_typer(line: str) -> None:
    assert plain_analysis(line.split()) is None
