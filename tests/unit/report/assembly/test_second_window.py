"""What a report takes from a second window with calls of Python, on recorded runs: a
healthy one, and one that loads slowly.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.places import FIXTURES

import tfadvisor
from tfadvisor.report.assembly.second_window import joined
from tfadvisor.report.model import Report
from tfadvisor.report.wording import advice


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


def test_findings_that_only_calls_show_are_from_the_second_window(
    tmp_path: Path,
) -> None:
    healthy, other = (
        tfadvisor.analyze(FIXTURES / name).report
        for name in ("jax-healthy", "jax-recompile")
    )

    report = run_of(
        tmp_path, main=recorded("jax-healthy"), calls=recorded("jax-recompile")
    )

    assert advice(report)[0].rule_id == advice(other)[0].rule_id
    assert (report.findings, report.plan) == (other.findings, other.plan)
    assert (report.verdict, report.breakdown) == (other.verdict, other.breakdown)
    assert (report.steps, report.metrics) == (healthy.steps, healthy.metrics)
    assert [(one.kind, one.fraction) for one in report.attribution] == [
        (one.kind, one.fraction) for one in other.attribution
    ]
    assert report.attribution[0].parts[0].places == other.attribution[0].parts[0].places
    assert sum(one.ms for one in report.attribution) == pytest.approx(
        healthy.steps.time_ms.median
    )
    for kind in report.attribution:
        assert sum(one.ms for one in kind.parts) == pytest.approx(kind.ms)
        for one in kind.parts:
            assert sum(call.ms for call in one.parts) == pytest.approx(
                one.ms if one.parts else 0
            )
    (note,) = notes(report)
    assert "Times and metrics are from the main window." in note
    assert f"takes {other.steps.time_ms.median:.3g} ms" in note


@pytest.mark.parametrize(
    ("share", "judges"), [(0.0, False), (0.49, False), (0.51, True)]
)
def test_a_second_window_about_a_part_of_the_step_tells_no_findings(
    share: float, judges: bool
) -> None:
    healthy, other = (
        tfadvisor.analyze(FIXTURES / name).report
        for name in ("jax-healthy", "jax-recompile")
    )
    assert healthy.steps.time_ms is not None
    assert other.steps.time_ms is not None
    times = replace(other.steps.time_ms, median=share * healthy.steps.time_ms.median)
    shorter = replace(other, steps=replace(other.steps, time_ms=times))

    found = joined(healthy, shorter, tells_findings=True)

    assert [one.rule_id for one in found.findings] == [
        one.rule_id for one in (other if judges else healthy).findings
    ]


def test_the_page_says_the_same(tmp_path: Path) -> None:
    report = run_of(
        tmp_path, main=recorded("jax-healthy"), calls=recorded("jax-recompile")
    )

    assert tfadvisor.analyze(tmp_path).page().report == report


def test_from_a_window_that_python_slowed_too_much_only_lines_are_taken(
    tmp_path: Path,
) -> None:
    healthy = tfadvisor.analyze(FIXTURES / "jax-healthy").report

    report = run_of(
        tmp_path, main=recorded("jax-healthy"), lines=recorded("jax-recompile")
    )

    assert [one.rule_id for one in report.findings] == [
        one.rule_id for one in healthy.findings
    ]
    assert report.verdict == healthy.verdict


def test_places_are_given_to_the_same_findings() -> None:
    second = tfadvisor.analyze(FIXTURES / "jax-loader").report
    main = replace(
        second, findings=tuple(replace(one, locations=()) for one in second.findings)
    )

    report = joined(main, second, tells_findings=True)

    assert [one.locations for one in report.findings] == [
        one.locations for one in second.findings
    ]
    assert notes(report) == [
        "Lines of the program are from a second, short window with calls of Python "
        "functions."
    ]
    assert joined(second, second, tells_findings=True) == second


@pytest.mark.parametrize("content", [b"", b"no trace", b"\x0a\xff"])
def test_a_second_window_that_cannot_be_read_costs_only_itself(
    tmp_path: Path, content: bytes
) -> None:
    healthy = tfadvisor.analyze(FIXTURES / "jax-healthy").report

    report = run_of(tmp_path, main=recorded("jax-healthy"), calls=content)

    assert (report.findings, report.verdict) == (healthy.findings, healthy.verdict)
    (note,) = notes(report)
    assert "h.calls.pb" in note


def test_without_the_note_beside_it_no_file_is_looked_for(tmp_path: Path) -> None:
    run_of(tmp_path, main=recorded("jax-healthy"), calls=recorded("jax-recompile"))
    (tmp_path / "recording.json").unlink()

    assert notes(tfadvisor.analyze(tmp_path).report) == []


def test_steps_that_are_asked_for_are_of_the_main_window(tmp_path: Path) -> None:
    run_of(tmp_path, main=recorded("jax-healthy"), calls=recorded("jax-recompile"))

    assert notes(tfadvisor.analyze(tmp_path, steps=(0, 5)).report) == []


def test_where_a_host_has_no_second_window_the_others_give_lines_alone(
    tmp_path: Path,
) -> None:
    """Two hosts, of which one has calls: findings of half of the run would not be those
    of the run.
    """
    for host in "ab":
        (tmp_path / f"{host}.xplane.pb").write_bytes(recorded("jax-healthy"))
    (tmp_path / "recording.json").write_text("{}")
    main = tfadvisor.analyze(tmp_path).report

    (tmp_path / "a.calls.pb").write_bytes(recorded("jax-recompile"))
    report = tfadvisor.analyze(tmp_path).report

    assert [one.rule_id for one in report.findings] == [
        one.rule_id for one in main.findings
    ]
    assert report.verdict == main.verdict

    (tmp_path / "b.calls.pb").write_bytes(recorded("jax-recompile"))
    assert (
        advice(tfadvisor.analyze(tmp_path).report)[0].rule_id
        == advice(tfadvisor.analyze(FIXTURES / "jax-recompile").report)[0].rule_id
    )
