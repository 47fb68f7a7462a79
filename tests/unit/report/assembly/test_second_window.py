"""What a report takes from a second window with calls of Python, on recorded runs: the
main one seems to load, the second one shows that it logs.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from support.golden_reports import report_of
from support.places import FIXTURES
from support.trace_builder import TraceBuilder, trace

import tfadvisor
from tfadvisor.report.assembly.second_window import is_judged
from tfadvisor.report.model import Report, StepTimes
from tfadvisor.report.wording import advice

MAIN, SECOND = "jax-loader", "jax-logging"
"""A step of 2.9 ms, 67% of it input; one of 6.8 ms, 92% of it other Python."""


def run_of(folder: Path, **traces: bytes) -> Report:
    """Of a run folder with these files, `HOST_calls` and the like; a note lies beside
    as `tfadvisor run` leaves it.
    """
    endings = {"main": "h.xplane.pb", "calls": "h.calls.pb", "lines": "h.lines.pb"}
    for name, content in traces.items():
        (folder / endings[name]).write_bytes(content)
    (folder / "recording.json").write_text("{}")
    return tfadvisor.analyze(folder).report


def recorded(name: str) -> bytes:
    return gzip.decompress((FIXTURES / name / "trace.xplane.pb.gz").read_bytes())


def notes(report: Report) -> list[str]:
    return [one.note for one in report.capture if one.rule_id == "second-window"]


def of(name: str) -> Report:
    return report_of(FIXTURES / name)


def test_shares_findings_and_metrics_are_all_from_the_second_window(
    tmp_path: Path,
) -> None:
    """Only how long steps take is the main one's, which calls of Python do not slow."""
    main, other = of(MAIN), of(SECOND)
    lengths = {name for name in main.metrics if name.startswith("step_time")}

    report = run_of(tmp_path, main=recorded(MAIN), calls=recorded(SECOND))

    assert advice(report)[0].rule_id != advice(main)[0].rule_id
    assert (report.findings, report.plan) == (other.findings, other.plan)
    assert (report.verdict, report.breakdown) == (other.verdict, other.breakdown)
    assert (report.not_applicable, report.ops) == (other.not_applicable, other.ops)
    assert report.steps == main.steps
    assert "step_time_ms" in lengths
    for name, one in report.metrics.items():
        assert one == (main if name in lengths else other).metrics[name], name


def test_where_the_step_goes_adds_up_to_a_step_of_the_main_window(
    tmp_path: Path,
) -> None:
    main, other = of(MAIN), of(SECOND)
    assert main.steps.time_ms is not None
    assert other.steps.time_ms is not None

    report = run_of(tmp_path, main=recorded(MAIN), calls=recorded(SECOND))

    assert [(one.kind, one.fraction) for one in report.attribution] == [
        (one.kind, one.fraction) for one in other.attribution
    ]
    assert report.attribution[0].parts[0].places == other.attribution[0].parts[0].places
    assert sum(one.ms for one in report.attribution) == pytest.approx(
        main.steps.time_ms.median
    )
    for kind in report.attribution:
        assert sum(one.ms for one in kind.parts) == pytest.approx(kind.ms)
        for one in kind.parts:
            assert sum(call.ms for call in one.parts) == pytest.approx(
                one.ms if one.parts else 0
            )
    (note,) = notes(report)
    assert "Lengths of steps are from the main window." in note
    assert f"takes {other.steps.time_ms.median:.3g} ms" in note


def times(median: float) -> StepTimes:
    return StepTimes(median, median, median, median, median, 0.0)


@pytest.mark.parametrize(
    ("median", "judges"), [(4.9, False), (5.0, True), (30.0, True)]
)
def test_a_second_window_about_a_part_of_the_step_tells_no_findings(
    median: float, judges: bool
) -> None:
    """The main window's step takes 10 ms: calls of Python never halve it."""
    shares = {"host": 0.3, "input": 0.0}

    assert is_judged(shares, times(10.0), times(median)) is judges


@pytest.mark.parametrize(
    ("shares", "judges"),
    [
        ({"host": 0.1, "input": 0.0}, True),
        ({"host": 0.05, "input": 0.05}, True),
        ({"host": 0.05, "input": 0.049}, False),
    ],
    ids=str,
)
def test_where_hardly_any_of_the_step_is_python_no_other_window_judges(
    shares: dict[str, float], judges: bool
) -> None:
    assert is_judged(shares, times(10.0), times(10.0)) is judges


def test_where_the_main_window_shows_no_steps_a_second_one_with_steps_judges() -> None:
    shares = {"host": 0.3, "input": 0.0}

    assert is_judged(shares, None, times(10.0))
    assert not is_judged(shares, times(10.0), None)
    assert not is_judged(shares, None, None)


def test_a_main_window_without_python_stays_what_it_is(tmp_path: Path) -> None:
    """Of a healthy step 0.1% is Python: what it does cannot matter."""
    healthy = of("jax-healthy")

    report = run_of(
        tmp_path, main=recorded("jax-healthy"), calls=recorded("jax-recompile")
    )

    assert (report.findings, report.verdict) == (healthy.findings, healthy.verdict)
    assert report.breakdown == healthy.breakdown


def test_the_page_says_the_same(tmp_path: Path) -> None:
    report = run_of(tmp_path, main=recorded(MAIN), calls=recorded(SECOND))

    assert tfadvisor.analyze(tmp_path).page().report == report


def test_from_a_window_that_python_slowed_too_much_only_lines_are_taken(
    tmp_path: Path,
) -> None:
    main = of(MAIN)

    report = run_of(tmp_path, main=recorded(MAIN), lines=recorded(SECOND))

    assert [one.rule_id for one in report.findings] == [
        one.rule_id for one in main.findings
    ]
    assert (report.verdict, report.breakdown) == (main.verdict, main.breakdown)
    assert report.metrics == main.metrics


def logging_loop(*, calls: bool) -> TraceBuilder:
    """Steps of 10 ms, of which Python takes 6 behind the kernel, in a function that only
    calls of Python name.
    """
    builder = trace()
    for index in range(6):
        at = index * 10_000
        builder.step(at, at + 10_000).call("PjitFunction(step)", at, at + 200)
        builder.kernel("GPU:0", "k", at + 250, at + 4_000, launched=(at + 50, at + 100))
        if calls:
            builder.call("$train.py:1 main", at, at + 10_000)
            builder.call("$train.py:3 log_metrics", at + 4_000, at + 10_000)
    return builder


def test_lines_are_given_to_the_same_findings(tmp_path: Path) -> None:
    main = logging_loop(calls=False).bytes()
    report = run_of(tmp_path, main=main, lines=logging_loop(calls=True).bytes())
    alone = logging_loop(calls=False).report()

    named, unnamed = (
        {
            one.rule_id: [(place.file, place.line) for place in one.locations]
            for one in found.findings
        }
        for found in (report, alone)
    )
    assert unnamed["host-work-in-loop"] == []
    assert named["host-work-in-loop"] == [("train.py", 3)]
    assert named.keys() == unnamed.keys()
    assert notes(report) == [
        "Lines of the program are from a second, short window with calls of Python "
        "functions."
    ]


def test_lines_that_the_main_window_names_itself_need_no_note(tmp_path: Path) -> None:
    both = recorded(MAIN)
    report = run_of(tmp_path, main=both, lines=both)

    assert notes(report) == []
    assert [one.locations for one in report.findings] == [
        one.locations for one in of(MAIN).findings
    ]


@pytest.mark.parametrize("content", [b"", b"no trace", b"\x0a\xff"])
def test_a_second_window_that_cannot_be_read_costs_only_itself(
    tmp_path: Path, content: bytes
) -> None:
    main = of(MAIN)

    report = run_of(tmp_path, main=recorded(MAIN), calls=content)

    assert (report.findings, report.verdict) == (main.findings, main.verdict)
    (note,) = notes(report)
    assert "h.calls.pb" in note


def test_without_the_note_beside_it_no_file_is_looked_for(tmp_path: Path) -> None:
    assert notes(run_of(tmp_path, main=recorded(MAIN), calls=recorded(SECOND)))
    (tmp_path / "recording.json").unlink()

    assert notes(tfadvisor.analyze(tmp_path).report) == []


def test_steps_that_are_asked_for_are_of_the_main_window(tmp_path: Path) -> None:
    run_of(tmp_path, main=recorded(MAIN), calls=recorded(SECOND))

    assert notes(tfadvisor.analyze(tmp_path, steps=(0, 5)).report) == []


def test_where_a_host_has_no_second_window_the_others_give_lines_alone(
    tmp_path: Path,
) -> None:
    """Two hosts, of which one has calls: findings of half of the run would not be those
    of the run.
    """
    for host in "ab":
        (tmp_path / f"{host}.xplane.pb").write_bytes(recorded(MAIN))
    (tmp_path / "recording.json").write_text("{}")
    main = tfadvisor.analyze(tmp_path).report

    (tmp_path / "a.calls.pb").write_bytes(recorded(SECOND))
    report = tfadvisor.analyze(tmp_path).report

    assert [one.rule_id for one in report.findings] == [
        one.rule_id for one in main.findings
    ]
    assert report.verdict == main.verdict

    (tmp_path / "b.calls.pb").write_bytes(recorded(SECOND))
    both = tfadvisor.analyze(tmp_path).report
    assert advice(both)[0].rule_id == advice(of(SECOND))[0].rule_id
    assert advice(both)[0].rule_id != advice(main)[0].rule_id
