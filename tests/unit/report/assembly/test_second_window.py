"""What a report takes from a second window with calls of Python, on recorded runs: a healthy one, and one that loads slowly."""

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
    """Of a run folder with these files, `HOST_calls` and the like; a note lies beside as `tfadvisor run` leaves it."""
    endings = {"main": "h.xplane.pb", "calls": "h.calls.pb", "lines": "h.lines.pb"}
    for name, content in traces.items():
        (folder / endings[name]).write_bytes(content)
    (folder / "recording.json").write_text("{}")
    return tfadvisor.analyze(folder)


def recorded(name: str) -> bytes:
    return gzip.decompress((FIXTURES / name / "trace.xplane.pb.gz").read_bytes())


def notes(report: Report) -> list[str]:
    return [one.note for one in report.capture if one.rule_id == "second-window"]


def test_findings_that_only_calls_show_are_from_the_second_window(tmp_path: Path) -> None:
    healthy, loader = (tfadvisor.analyze(FIXTURES / name) for name in ("jax-healthy", "jax-loader"))

    report = run_of(tmp_path, main=recorded("jax-healthy"), calls=recorded("jax-loader"))

    assert advice(report)[0].rule_id == advice(loader)[0].rule_id
    assert (report.findings, report.plan) == (loader.findings, loader.plan)
    assert (report.verdict, report.breakdown) == (loader.verdict, loader.breakdown)
    assert (report.steps, report.metrics) == (healthy.steps, healthy.metrics)
    assert [(one.kind, one.fraction) for one in report.attribution] == [
        (one.kind, one.fraction) for one in loader.attribution
    ]
    assert report.attribution[0].parts[0].places == loader.attribution[0].parts[0].places
    assert sum(one.ms for one in report.attribution) == pytest.approx(healthy.steps.time_ms.median)
    for kind in report.attribution:
        assert sum(one.ms for one in kind.parts) == pytest.approx(kind.ms)
        for one in kind.parts:
            assert sum(call.ms for call in one.parts) == pytest.approx(one.ms if one.parts else 0)
    (note,) = notes(report)
    assert "Times and metrics are from the main window." in note
    assert f"takes {loader.steps.time_ms.median:.3g} ms" in note


def test_a_second_window_whose_step_takes_no_time_scales_nothing() -> None:
    healthy, loader = (tfadvisor.analyze(FIXTURES / name) for name in ("jax-healthy", "jax-loader"))
    assert loader.steps.time_ms is not None
    still = replace(loader, steps=replace(loader.steps, time_ms=replace(loader.steps.time_ms, median=0.0)))

    found = joined(healthy, still, tells_findings=True)

    assert found.findings == loader.findings
    assert [one.ms for one in found.attribution] == [one.ms for one in loader.attribution]


def test_the_page_says_the_same(tmp_path: Path) -> None:
    report = run_of(tmp_path, main=recorded("jax-healthy"), calls=recorded("jax-loader"))

    assert report.page().report == report.report


def test_from_a_window_that_python_slowed_too_much_only_lines_are_taken(tmp_path: Path) -> None:
    healthy = tfadvisor.analyze(FIXTURES / "jax-healthy")

    report = run_of(tmp_path, main=recorded("jax-healthy"), lines=recorded("jax-loader"))

    assert [one.rule_id for one in report.findings] == [one.rule_id for one in healthy.findings]
    assert report.verdict == healthy.verdict


def test_places_are_given_to_the_same_findings() -> None:
    second = tfadvisor.analyze(FIXTURES / "jax-loader")
    main = replace(second, findings=tuple(replace(one, locations=()) for one in second.findings))

    report = joined(main, second, tells_findings=True)

    assert [one.locations for one in report.findings] == [one.locations for one in second.findings]
    assert notes(report) == ["Lines of the program are from a second, short window with calls of Python functions."]
    assert joined(second, second, tells_findings=True) == second


@pytest.mark.parametrize("content", [b"", b"no trace", b"\x0a\xff"])
def test_a_second_window_that_cannot_be_read_costs_only_itself(tmp_path: Path, content: bytes) -> None:
    healthy = tfadvisor.analyze(FIXTURES / "jax-healthy")

    report = run_of(tmp_path, main=recorded("jax-healthy"), calls=content)

    assert (report.findings, report.verdict) == (healthy.findings, healthy.verdict)
    (note,) = notes(report)
    assert "h.calls.pb" in note


def test_without_the_note_beside_it_no_file_is_looked_for(tmp_path: Path) -> None:
    run_of(tmp_path, main=recorded("jax-healthy"), calls=recorded("jax-loader"))
    (tmp_path / "recording.json").unlink()

    assert notes(tfadvisor.analyze(tmp_path)) == []


def test_steps_that_are_asked_for_are_of_the_main_window(tmp_path: Path) -> None:
    run_of(tmp_path, main=recorded("jax-healthy"), calls=recorded("jax-loader"))

    assert notes(tfadvisor.analyze(tmp_path, steps=(0, 5))) == []


def test_where_a_host_has_no_second_window_the_others_give_lines_alone(tmp_path: Path) -> None:
    """Two hosts, of which one has calls: findings of half of the run would not be those of the run."""
    for host in "ab":
        (tmp_path / f"{host}.xplane.pb").write_bytes(recorded("jax-healthy"))
    (tmp_path / "recording.json").write_text("{}")
    main = tfadvisor.analyze(tmp_path)

    (tmp_path / "a.calls.pb").write_bytes(recorded("jax-loader"))
    report = tfadvisor.analyze(tmp_path)

    assert [one.rule_id for one in report.findings] == [one.rule_id for one in main.findings]
    assert report.verdict == main.verdict

    (tmp_path / "b.calls.pb").write_bytes(recorded("jax-loader"))
    assert (
        advice(tfadvisor.analyze(tmp_path))[0].rule_id == advice(tfadvisor.analyze(FIXTURES / "jax-loader"))[0].rule_id
    )
