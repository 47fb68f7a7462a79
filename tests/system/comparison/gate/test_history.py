"""The history page: well formed, without a script or network, whatever the
store holds.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace
from support.made_runs import side, snapshot
from support.places import FIXTURES

from tfadvisor.comparison.baseline.history import as_html, baselines, chart, in_short
from tfadvisor.comparison.baseline.snapshot import Origin, Snapshot

COMMAND = Path(sys.executable).parent / "tfadvisor"
NASTY = "<script>alert(1)</script>\"'&\x1b[31m\u202e"


def run(ms: float, day: int, **known: object) -> Snapshot:
    return snapshot(ms, recorded_at=f"2026-01-{day:02d}T00:00:00+00:00", **known)


def picture(*runs: Snapshot) -> ElementTree.Element:
    """The SVG."""
    found = ElementTree.fromstring(chart(runs)).find("svg")
    assert found is not None
    return found


def test_bars_are_as_high_as_the_step_is_long_and_split_into_its_classes() -> None:
    """The longest of 100 ms is 220 high, 50 ms is 110; a tenth of that is input."""
    short = snapshot(of=side(50.0, classes={"input": 5.0}))
    first, second = picture(run(100.0, 1), short).findall("g")

    assert [float(rect.get("height", 0)) for rect in first.findall("rect")] == [220.0]
    assert {
        rect.get("class"): float(rect.get("height", 0))
        for rect in second.findall("rect")
    } == {
        "k-compute": 99.0,
        "k-input": 11.0,
    }


@pytest.mark.parametrize(
    ("longest", "lines"),
    [
        (54.5, ["0 ms", "20 ms", "40 ms"]),
        (0.0049, ["0 ms", "1 µs", "2 µs", "3 µs", "4 µs"]),
        (5000.0, ["0 ms", "1 s"]),
    ],
)
def test_lines_are_at_round_times_at_equal_distances(
    longest: float, lines: list[str]
) -> None:
    drawn = picture(run(longest, 1))
    words = [
        one.text for one in drawn.findall("text") if one.get("text-anchor") == "end"
    ]
    heights = [float(one.get("y1", 0)) for one in drawn.findall("line")]

    assert words[: len(lines)] == lines
    assert 3 <= len(words) <= 6
    steps = [round(one - other, 1) for one, other in pairwise(heights)]
    assert max(steps) - min(steps) <= 0.11


def test_runs_are_dated_and_few_bars_are_no_slabs() -> None:
    """Of 13 runs every third has its day below; a single one takes a tenth of the
    width.
    """
    drawn = picture(*(run(100.0, 1 + at) for at in range(13)))
    days = [
        one.text for one in drawn.findall("text") if one.get("text-anchor") == "middle"
    ]
    (bar,) = picture(run(100.0, 1)).iter("rect")

    assert days == ["01-01", "01-04", "01-07", "01-10", "01-13"]
    assert bar.get("width") == "8.000%"


def test_a_level_begins_with_a_line_and_its_reason() -> None:
    drawn = picture(
        run(100.0, 1),
        run(101.0, 2),
        replace(run(150.0, 3, level=1), note="larger batch"),
        run(149.0, 4, level=1),
    )

    assert [line.get("class") for line in drawn.findall("line")].count("level") == 1
    assert [
        mark.text for mark in drawn.findall("text") if mark.get("class") == "mark"
    ] == ["level 1: larger batch"]


def test_baselines_are_told_apart_and_the_latest_comes_first() -> None:
    runs = [
        run(100.0, 1),
        run(5.0, 9, model="small"),
        run(102.0, 2),
        run(50.0, 3, labels={"batch": "256"}),
    ]

    assert [[one.side.median_ms for one in alike] for alike in baselines(runs)] == [
        [5.0],
        [50.0],
        [100.0, 102.0],
    ]


def test_a_baseline_in_a_line() -> None:
    assert in_short([run(100.0, 1)]) == "1 run: 100 ms a step."
    assert (
        in_short([run(100.0, 1), run(110.0, 2, level=1), run(150.0, 3, level=1)])
        == "3 runs, 1 accepted change: 100 ms a step in the first, 150 ms in the last "
        "(+50%)."
    )


def test_no_name_becomes_markup() -> None:
    """Model, label, note, run, framework version and store are what somebody else
    chose.
    """
    nasty = replace(
        snapshot(
            of=side(100.0, name=NASTY),
            model=NASTY,
            labels={NASTY: NASTY},
            about={"framework version": NASTY},
        ),
        note=NASTY,
        origin=Origin(NASTY, NASTY, NASTY),
        recorded_at=NASTY,
        level=1,
    )
    page = as_html(NASTY, [replace(nasty, level=0), nasty], unusable=1)

    assert page.count("<script") == 1  # the frame's own
    assert "alert(1)</script" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "1 file of the store could not be read." in page


def test_no_step_is_too_few_or_too_many() -> None:
    assert len(picture(run(0.001, 1)).findall("g")) == 1
    assert (
        len(picture(*(run(100.0, 1 + at % 28) for at in range(1000))).findall("g"))
        == 1000
    )


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    for name in ("jax-healthy", "jax-loader"):
        subprocess.run(
            [str(COMMAND), "baseline", "add", str(FIXTURES / name), "--store", "s"],
            cwd=tmp_path,
            check=True,
        )

    done = subprocess.run(
        [str(COMMAND), "baseline", "history", "--store", "s", "-o", "h.html"],
        cwd=tmp_path,
        check=False,
    )

    page = (tmp_path / "h.html").read_text(encoding="utf-8")
    assert done.returncode == 0
    assert page.startswith("<!doctype html>")
    assert page.count("<g>") == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ["--store", "none", "-o", "h.html"],
            3,
            "none: holds no run yet. `tfadvisor baseline add PATH` adds one.",
        ),
        (["--store", "s", "-o", "s/h.html"], 2, "--output s/h.html lies in s"),
        (
            ["--store", "s", "-o", "no/h.html"],
            2,
            "--output no/h.html: cannot be written: No such file or directory.",
        ),
        (
            ["--store", "s", "--model", "other", "-o", "h.html"],
            3,
            "s: holds no run of other.",
        ),
    ],
)
def test_wrong_use(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    added = [
        str(COMMAND),
        "baseline",
        "add",
        str(FIXTURES / "jax-healthy"),
        "--store",
        "s",
    ]
    subprocess.run(added, cwd=tmp_path, check=True)

    done = subprocess.run(
        [str(COMMAND), "baseline", "history", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == code
    assert done.stderr.startswith(f"tfadvisor: {said}")
    assert not (tmp_path / "h.html").exists()
