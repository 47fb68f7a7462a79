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
HOOK = "/venv/lib/python3.11/site-packages/json/__init__.py"
FRAMES = [
    ["/home/me/train.py", "main", 50],
    ["/home/me/train.py", "load", 12],
    ["/home/me/train.py", "log", 30],
    [HOOK, "dumps", 231],
    ["/home/me/train.py", "<lambda>", 31],
    [HOOK, "evaluate", 9],
]
LOADS, LOGS = [0, 1], [0, 2, 3]


def samples(at: list[list[int]], **more: Any) -> dict[str, Any]:
    """Of a main thread and a worker, one every ms since the trace began. at: (us,
    thread, stack, count).
    """
    return {
        "version": 2,
        "every_ns": 1_000_000,
        "began_ns": BEGAN_NS,
        "frames": FRAMES,
        "stacks": [LOADS, LOGS],
        "threads": [["MainThread", True, "7 python"], ["", False, "7 python"]],
        "samples": at,
        **more,
    }


def written(folder: Path, text: str) -> Samples | None:
    (folder / "host.samples.json").write_text(text)
    return read_samples(folder / "host.xplane.pb", "host")


def test_an_entry_stands_for_all_of_its_samples(tmp_path: Path) -> None:
    """The main thread loads for 2 ms and logs for 3; what a worker does counts for
    itself.
    """
    entries = [[0, 0, 0, 2], [500, 1, 0, 9], [2000, 0, 1, 3]]
    found = written(tmp_path, json.dumps(samples(entries)))

    assert found is not None
    at, stack = found.ticks()
    assert ((at - BEGAN_NS) // 1_000_000).tolist() == [0, 1, 2, 3, 4]
    assert stack.tolist() == [0, 0, 1, 1, 1]
    assert len(found.ticks(1)[0]) == 9


def test_a_stack_is_the_programs_innermost_line_and_what_runs_there(
    tmp_path: Path,
) -> None:
    """A lambda has no name that says anything; the end of an epoch is named wherever it
    is open; in a library alone there is no line.
    """
    stacks = [LOADS, LOGS, [0, 2, 4], [0, 5, 3], [3], []]
    found = written(tmp_path, json.dumps(samples([], stacks=stacks)))

    assert found is not None
    train, inner = "/home/me/train.py", "__init__.py"
    assert [tuple(one) for one in found.places] == [
        (train, 12, "load", "", "train.py"),
        (train, 30, "log", "dumps", inner),
        (train, 30, "log", "<lambda>", "train.py"),
        (train, 50, "evaluate", "dumps", inner),
        ("", 0, "", "dumps", inner),
        ("", 0, "", "", ""),
    ]


def test_the_line_of_the_loops_function_is_that_of_its_outermost_call(
    tmp_path: Path,
) -> None:
    loop = ("/home/me/train.py", "main", 49, 51)
    text = json.dumps(samples([], stacks=[LOADS, [1], []], loop=loop))

    found = written(tmp_path, text)

    assert found is not None
    assert found.lines == (50, -1, -1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        json.dumps(samples([[0, 2, 0, 1]])),
        json.dumps(samples([[0, 0, 2, 1]])),
        json.dumps(samples([[0, 0, 0, 0]])),
        json.dumps(samples([[5, 0, 0, 1], [4, 0, 0, 1]])),
        json.dumps(samples([[0, 0, 0, 1 << 40]])),
        json.dumps(samples([[1 << 62, 0, 0, 1]])),
        json.dumps(samples([], version=1)),
        json.dumps(samples([], stacks=[[6]])),
        json.dumps(samples([], every_ns=0)),
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
    at = []
    for us in range(0, 100_000, 10_000):
        at += [[us, 0, 0, 8], [us + 8000, 0, 1, 2]]
    (run / "host.samples.json").write_text(json.dumps(samples(at)))

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


def test_of_many_stacks_less_is_looked_at(tmp_path: Path) -> None:
    """Three million frames at most, were all as deep: 75 of each of 40,000. Of runs
    six million: 30 of each of 200,000 that as many naps cut.
    """
    few = written(tmp_path, json.dumps(samples([])))
    many = written(tmp_path, json.dumps(samples([], stacks=[LOADS] * 40_000)))
    naps = [[0, 9]] * 100_000
    slept = written(tmp_path, json.dumps(samples([], asleep=naps)))

    assert [None if one is None else one.looked_at for one in (few, many, slept)] == [
        256,
        75,
        30,
    ]
