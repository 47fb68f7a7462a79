"""Time of a thread of which nothing is recorded goes to the lines on which samples saw
it.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.report.assembly import page
from tfadvisor.timeline.attribution.spent import Sampled, Spent
from tfadvisor.timeline.intervals import EMPTY, union
from tfadvisor.timeline.summary.host_summary import HostSummary
from tfadvisor.vocabulary import TimeClass

MS = 1_000_000_000
EVERY_MS = np.arange(50)
"""A tick in the middle of each."""


def steps(*calls: tuple[str, int, int]) -> TraceBuilder:
    """Five of 10 ms: four dispatches in 1 ms, the GPU until 4 ms. calls: in each step,
    name and ms since its start.
    """
    built = (
        trace()
        .steps(5, 10_000)
        .busy("GPU:0", *((10_000 * i, 10_000 * i + 4_000) for i in range(5)))
    )
    for i in range(5):
        for part in range(4):
            start = 10_000 * i + 250 * part
            built.call("PjitFunction(train_step)", start, start + 250)
        for name, lo, hi in calls:
            built.call(name, 10_000 * i + 1000 * lo, 10_000 * i + 1000 * hi)
    return built


def host_of(
    built: TraceBuilder,
    place: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    places: tuple[tuple[str, int, str, str], ...],
) -> HostSummary:
    seen = Sampled(EVERY_MS * MS + MS // 2, place, places)
    monkeypatch.setattr("tfadvisor.timeline.host_build.sampled", lambda _trace: seen)
    (host,) = built.build().hosts
    return host


def test_every_tick_in_a_gap_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Line 7 in the first two steps, then line 9."""
    places = (("train.py", 7, "load", ""), ("train.py", 9, "log", ""))

    host = host_of(steps(), np.where(EVERY_MS < 20, 0, 1), monkeypatch, places)

    found = {
        (one.file, one.line): one.ps
        for one in host.evidence.spent
        if one.kind is not TimeClass.COMPUTE
    }
    assert found == {("train.py", 7): 12 * MS, ("train.py", 9): 18 * MS}


def test_a_line_whose_functions_have_no_frame_is_a_call_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`np.random.rand(…)` is no function that Python's tracers see; `astype` is. The
    loop itself began before the trace, so that nothing but samples says that lines 7
    and 8 of the script take 4 and 1 of each step's 10 ms.
    """
    at = EVERY_MS % 10
    place = np.select(
        [at < 1, at < 5, at < 8], [0, 0, 1], 2
    )  # within 4 to 5 ms, 5 to 8 and 9 to 10 ms the GPU is idle
    places = (
        ("train.py", 6, "", ""),
        ("train.py", 7, "", ""),
        ("train.py", 8, "", "log"),
    )

    host = host_of(steps(("$<unknown> astype", 8, 9)), place, monkeypatch, places)

    found = {
        one.called(): (one.host_ps, one.input_ps, one.runs_step, one.inner)
        for one in host.evidence.frames
    }
    assert found == {
        "train.py:6": (5 * MS, 0, True, ""),
        "train.py:7": (15 * MS, 0, False, ""),
        "train.py:8": (5 * MS, 0, False, "log"),
        "<unknown> astype": (5 * MS, 0, False, ""),
    }
    assert host.evidence.frames[0].place() == "train.py:7"


def test_what_only_samples_name_is_no_call_and_was_counted_by_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = np.where(EVERY_MS % 10 < 8, 0, -1)
    seen = Sampled(EVERY_MS * MS + MS // 2, place, (("train.py", 7, "", ""),))
    monkeypatch.setattr("tfadvisor.timeline.host_build.sampled", lambda _trace: seen)
    built = steps(("$train.py:20 log", 8, 10))

    assert (
        built.measure().fact("longest_host_calls")
        == "Longest calls and lines: train.py:7 40%, log (train.py:20) 20%"
    )
    rows = [(one.place, one.calls_per_step) for one in page._calls(built.build())]
    assert rows == [("train.py:7", None), ("log (train.py:20)", 1.0)]


def test_the_line_of_a_function_that_takes_most_of_its_own_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`load` runs from 4 to 10 ms of each step: on line 4 for two thirds of it, on line
    5 else; in `log` no line has half.
    """
    at = EVERY_MS % 10
    place = np.select([at < 4, at < 8, at < 9], [-1, 0, 1], 2 + EVERY_MS // 10 % 3)
    places = tuple(
        ("train.py", line, name, "")
        for line, name in (
            (4, "load"),
            (5, "load"),
            (21, "log"),
            (22, "log"),
            (23, "log"),
        )
    )

    host = host_of(
        steps(("$train.py:3 load", 4, 9), ("$train.py:20 log", 9, 10)),
        place,
        monkeypatch,
        places,
    )

    found = {
        (one.activity, one.detail)
        for one in host.evidence.spent
        if one.file == "train.py"
    }
    assert found == {
        ("load (train.py:3)", "line 4"),
        ("log (train.py:20)", "its own lines"),
    }


@pytest.mark.parametrize(("other", "wanted"), [(10, "train.py:7"), (11, "")])
def test_what_is_compiled_has_the_line_that_two_thirds_of_its_ticks_are_on(
    other: int, wanted: str
) -> None:
    """30 ticks while something compiles. What the trace places stays there, and
    computing has no line of the host's.
    """
    place = np.where(np.arange(50) < 30 - other, 0, np.where(np.arange(50) < 30, 1, 2))
    places = (
        ("train.py", 7, "", "scan"),
        ("train.py", 9, "", ""),
        ("train.py", 50, "", ""),
    )
    seen = Sampled(EVERY_MS * MS + MS // 2, place, places)
    classes = dict.fromkeys(TimeClass, EMPTY) | {
        TimeClass.COMPILE: union(np.array([0]), np.array([30 * MS]))
    }
    spent = (
        Spent(TimeClass.COMPILE, "compiles scan"),
        Spent(TimeClass.COMPILE, "compiles init", file="model.py", line=3),
        Spent(TimeClass.COMPUTE, "dot"),
    )

    named = seen.named(spent, classes)

    assert [f"{one.file}:{one.line}" if one.file else "" for one in named] == [
        wanted,
        "model.py:3",
        "",
    ]


@pytest.mark.parametrize(("scan", "placed"), [(20, ["train.py", ""]), (19, ["", ""])])
def test_a_part_that_may_lie_on_another_line_has_none(
    scan: int, placed: list[str]
) -> None:
    """20 of 30 ticks of compiling are on line 7: of what takes 20 of 30 ms half may lie
    on other lines, of 19 ms more.
    """
    place = np.where(np.arange(50) < 20, 0, 1)
    seen = Sampled(
        EVERY_MS * MS + MS // 2,
        place,
        (("train.py", 7, "", "scan"), ("train.py", 9, "", "")),
    )
    classes = dict.fromkeys(TimeClass, EMPTY) | {
        TimeClass.COMPILE: union(np.array([0]), np.array([30 * MS]))
    }
    spent = tuple(
        Spent(TimeClass.COMPILE, name, ps=ms * MS)
        for name, ms in (("scan", scan), ("init", 30 - scan))
    )

    assert [one.file for one in seen.named(spent, classes)] == placed


def test_a_tick_in_a_call_that_traces_have_names_no_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the 6 ms of each step in which nothing is recorded line 9 has 2 ticks: there
    the thread waits for a value, which would be in an event. Line 7 makes all 30 ms.
    """
    at = EVERY_MS % 10
    seen = Sampled(
        EVERY_MS * MS + MS // 2,
        np.where((at == 4) | (at == 5), 1, 0),
        (("train.py", 7, "augment", ""), ("train.py", 9, "main", "_value")),
        recorded=frozenset([1]),
    )
    monkeypatch.setattr("tfadvisor.timeline.host_build.sampled", lambda _trace: seen)

    (host,) = steps().build().hosts

    assert [(one.called(), one.host_ps) for one in host.evidence.frames] == [
        ("augment (train.py:7)", 30 * MS)
    ]
    assert {
        (one.line, one.ps)
        for one in host.evidence.spent
        if one.kind is not TimeClass.COMPUTE
    } == {(7, 30 * MS)}


def test_a_few_ticks_name_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven, of 25 ms."""
    place = np.where(np.isin(EVERY_MS, (5, 6, 15, 16, 25, 26, 35)), 0, -1)
    seen = Sampled(
        (EVERY_MS * MS + MS // 2)[place == 0],
        place[place == 0],
        (("train.py", 7, "load", ""),),
    )
    monkeypatch.setattr("tfadvisor.timeline.host_build.sampled", lambda _trace: seen)

    (host,) = steps().build().hosts

    assert host.evidence.frames == ()


def test_what_the_sampler_does_itself_is_no_part_of_what_it_interrupts() -> None:
    """A tracer of all calls of Python records the sampler's handler: from 5 to 6 ms of
    each step, and a call of 0.5 ms in it.
    """
    built = steps(
        ("$train.py:3 log", 4, 10),
        ("$sampling.py:171 tfadvisor_tick", 5, 6),
        ("$time time_ns", 5, 6),
    )

    (host,) = built.build().hosts

    assert [(one.called(), one.inner, one.host_ps) for one in host.evidence.frames] == [
        ("log (train.py:3)", "", 30 * MS)
    ]
    assert {one.detail for one in host.evidence.spent if one.file == "train.py"} == {
        "its own lines"
    }
