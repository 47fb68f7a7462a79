"""Samples of a program's main thread beside its trace: which ticks each stands for, and
what they name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.trace_builder import trace

import tfadvisor
from tfadvisor.timeline.host.threads import host_threads
from tfadvisor.timeline.steps.find import asked_steps
from tfadvisor.trace.samples import Samples, read_samples

BEGAN_NS = 1_700_000_000_000_000_000
LOADS = ["/home/me/train.py", 12, "load", "", "train.py"]
LOGS = ["/home/me/train.py", 30, "log", "dumps", "__init__.py"]


def samples(after_us: list[int], at: list[int], **more: Any) -> dict[str, Any]:
    """With a tick every ms, the first when the trace begins."""
    times = {"every_ns": 1_000_000, "opened_ns": BEGAN_NS, "first_ns": BEGAN_NS}
    return {
        "version": 1,
        **times,
        "places": [LOADS, LOGS],
        "after_us": after_us,
        "at": at,
        "why": "",
        **more,
    }


def written(folder: Path, text: str) -> Samples | None:
    (folder / "host.samples.json").write_text(text)
    return read_samples(folder / "host.xplane.pb", "host")


def test_a_late_sample_stands_for_the_ticks_that_it_missed(tmp_path: Path) -> None:
    """Taken at 0, 1 and 4.2 ms: the last one for the ticks at 2, 3 and 4 ms."""
    found = written(tmp_path, json.dumps(samples([0, 1000, 4200], [0, 1, 0])))

    assert found is not None
    at, place = found.ticks()
    assert ((at - BEGAN_NS) // 1_000_000).tolist() == [0, 1, 2, 3, 4]
    assert place.tolist() == [0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        json.dumps(samples([0], [0, 1])),
        json.dumps(samples([0], [2])),
        json.dumps(samples([0], [0], version=2)),
        json.dumps(samples([5, 4], [0, 0])),
        json.dumps(samples([0, 10**12], [0, 0])),
        json.dumps(samples([0, 1 << 62], [0, 0])),
    ],
)
def test_what_is_no_such_file_is_left_out(tmp_path: Path, text: str) -> None:
    assert written(tmp_path, text) is None


def test_lines_of_samples_name_what_the_trace_does_not(tmp_path: Path) -> None:
    """Steps of 10 ms, 6 of them between two calls: of 54 ticks in these gaps two of
    three are in load().
    """
    builder = trace().plane_stat("Task Environment", profile_start_time=BEGAN_NS)
    for step in range(10):
        start = step * 10_000.0
        builder.call("PjitFunction(step)", start, start + 4000).busy(
            "/device:GPU:0", (start + 10, start + 4000)
        )
    run = tmp_path / "plugins" / "profile" / "one"
    run.mkdir(parents=True)
    (run / "host.xplane.pb").write_bytes(builder.bytes())
    ticks = list(range(0, 100_000, 1000))
    at = [0 if us % 10_000 < 8000 else 1 for us in ticks]
    (run / "host.samples.json").write_text(json.dumps(samples(ticks, at)))

    report = tfadvisor.analyze(run).report

    (host,) = [one for one in report.attribution if one.kind == "host"]
    load, log = host.parts
    assert (load.activity, log.activity) == ("load (train.py:12)", "log (train.py:30)")
    assert load.fraction / host.fraction == pytest.approx(2 / 3, abs=0.02)
    assert (load.places[0].file, load.places[0].line) == ("train.py", 12)


@pytest.mark.parametrize(
    ("step", "count"),
    [
        ("outer", 3),
        ("inner", 6),
        ("train.py:22", 3),
        ("train.py:9", None),
        ("no", None),
    ],
)
def test_the_step_is_what_was_asked_for(step: str, count: int | None) -> None:
    """outer() is defined at line 20 of train.py and calls inner twice."""
    builder = trace()
    for start in (0.0, 10.0, 20.0):
        builder.call("$train.py:20 outer", start, start + 8)
        builder.call("PjitFunction(inner)", start + 1, start + 2).call(
            "PjitFunction(inner)", start + 3, start + 4
        )

    found = asked_steps(host_threads(builder.decode()), step)

    assert (None if found is None else len(found)) == count


@pytest.mark.parametrize("digits", [5000, 999, 19])
def test_a_line_of_many_digits_is_no_step(digits: int) -> None:
    builder = (
        trace().call("$train.py:20 outer", 0, 8).call("$train.py:20 outer", 10, 18)
    )

    assert (
        asked_steps(host_threads(builder.decode()), f"train.py:{'9' * digits}") is None
    )
