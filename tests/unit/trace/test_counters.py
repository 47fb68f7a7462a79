"""The file beside a trace: what is read, and what is not believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.trace_builder import trace

from tfadvisor.analysis import analyze
from tfadvisor.trace.counters import LARGEST, Counted, read_counters

GOOD: dict[str, Any] = {
    "version": 1,
    "opened": {"time": 100.0, "busy_seconds": 10, "program_seconds": 4},
    "closed": {"time": 110.0, "busy_seconds": 28, "program_seconds": 14},
    "settings": {
        "cores": 2,
        "versions": {"jax": "0.10.2"},
        "variables": {"OMP_NUM_THREADS": "4"},
    },
}


def read(folder: Path, content: object) -> tuple[Counted | None, str]:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "w0.machine.json").write_text(text)
    found = read_counters(folder / "w0.xplane.pb.gz", "w0")
    return found.counted, found.why


def test_the_file_has_the_name_of_the_trace(tmp_path: Path) -> None:
    counted, why = read(tmp_path, GOOD)

    assert why == ""
    assert counted is not None
    assert counted.seconds == 10
    assert counted.closed.program_seconds == 14
    assert counted.settings.variables == {"OMP_NUM_THREADS": "4"}


def test_without_a_file_nothing_is_wrong(tmp_path: Path) -> None:
    found = read_counters(tmp_path / "w0.xplane.pb", "w0")

    assert (found.counted, found.why) == (None, "")


def test_what_a_later_tfadvisor_adds_is_passed_over(tmp_path: Path) -> None:
    counted, _ = read(
        tmp_path, {**GOOD, "more": 3, "opened": {**GOOD["opened"], "new_counter": [1]}}
    )

    assert counted is not None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "cannot be used: Input data was truncated"),
        ("not JSON", "cannot be used: JSON is malformed"),
        ("[" * 100_000, "cannot be used"),
        ("[]", "cannot be used: Expected `object`"),
        ({**GOOD, "version": 2}, "has version 2, and this tfadvisor reads 1"),
        ({**GOOD, "closed": {"time": 100.0}}, "it counts no time"),
        ({**GOOD, "closed": {"time": 1e17}}, "it counts no time"),
        ({**GOOD, "closed": {"time": "soon"}}, "Expected `float`"),
        ({**GOOD, "opened": {"time": 1, "busy_seconds": -1}}, "Expected `float` >= 0"),
        ({**GOOD, "settings": {"cores": 0}}, "Expected `int` >= 1"),
        (
            {**GOOD, "settings": {"variables": {"A": "x" * 401}}},
            "Expected `str` of length <= 400",
        ),
        (
            {**GOOD, "settings": {"variables": {str(at): "" for at in range(65)}}},
            "Expected `object` of length <= 64",
        ),
        ({**GOOD, "gpus": [{"utilization": 1.5}]}, "Expected `float` <= 1"),
        ({**GOOD, "gpus": [{}] * 17}, "length <= 16"),
        (json.dumps(GOOD).replace("28", "NaN"), "cannot be used"),
        (json.dumps(GOOD).replace("28", "1e999"), "cannot be used"),
        (json.dumps(GOOD) + " " * LARGEST, "it has more than 131,072 bytes"),
    ],
)
def test_what_cannot_be_is_told_and_not_used(
    tmp_path: Path, content: object, why: str
) -> None:
    counted, told = read(tmp_path, content)

    assert counted is None
    assert told.startswith("w0.machine.json ")
    assert why in told


def test_bytes_that_are_no_text_and_a_folder_are_told(tmp_path: Path) -> None:
    (tmp_path / "w0.machine.json").write_bytes(b"\xff\xfe")
    no_text = read_counters(tmp_path / "w0.xplane.pb", "w0").why
    (tmp_path / "w1.machine.json").mkdir()

    assert "cannot be used" in no_text
    assert "it is a folder" in read_counters(tmp_path / "w1.xplane.pb", "w1").why


@pytest.mark.parametrize("content", ["{", json.dumps(GOOD)])
def test_a_trace_is_analysed_whatever_lies_beside_it(
    tmp_path: Path, content: str
) -> None:
    """10 s: the program's 10 s of cores of 18 busy ones leave 0.8 cores to others."""
    built = (
        trace()
        .host("w0")
        .steps(6, period=100)
        .busy("GPU:0", *((at * 100, at * 100 + 40) for at in range(6)))
    )
    folder = built.write(tmp_path)
    (folder / "w0.machine.json").write_text(content)

    report = analyze(folder).report

    assert report.broken == ()
    others = report.metrics["other_cores"]
    assert others.value == (pytest.approx(0.8) if content != "{" else None)
    assert ("w0.machine.json cannot be used" in (others.reason or "")) == (
        content == "{"
    )
    machines = report.to_dict().get("machines")
    assert (machines is None) == (content == "{")
    if machines:
        assert machines[0]["host"] == "w0"
        assert machines[0]["versions"] == {"jax": "0.10.2"}
