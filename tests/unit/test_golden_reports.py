"""Every recorded run, analysed once: it is told as before, unless somebody writes it
anew and says why, and nothing in its report contradicts the rest.
"""

from __future__ import annotations

import pytest
from support.golden_reports import (
    GOLDEN,
    SOURCES,
    Recording,
    command_for,
    golden_text,
    recordings,
    report_of,
)

import tfadvisor
from tfadvisor.report.forms.brief import as_brief
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.model import Report
from tfadvisor.report.wording import OTHER, bar_note, is_dim
from tfadvisor.vocabulary import Severity

RECORDINGS = recordings()
NARROW = ("fp16", "bf16", "fp8")


@pytest.fixture(scope="module", params=RECORDINGS, ids=lambda one: one.name)
def recording(request: pytest.FixtureRequest) -> Recording:
    """One run after the other, so that each is analysed once for all tests here."""
    return request.param


@pytest.fixture
def report(recording: Recording) -> Report:
    """Of a run that can be read."""
    report = report_of(recording.path)
    if isinstance(report, tfadvisor.TraceError):
        pytest.skip("the golden report says why there is none")
    return report


def test_a_recorded_run_is_told_as_before(recording: Recording) -> None:
    assert recording.golden.is_file(), f"new: {command_for(recording.name)}"
    before = recording.golden.read_text(encoding="utf-8")

    assert golden_text(report_of(recording.path)) == before, (
        f"if this is meant: {command_for(recording.name)}"
    )


def test_shares_and_savings_add_up(report: Report) -> None:
    """The classes of time to the step, where it goes to the classes, and each level to
    the one above; findings together save no more than the step.
    """
    assert sum(report.breakdown.values()) == pytest.approx(1, abs=1e-6)
    assert sum(one.saves for one in report.findings) <= 1 + 1e-9
    assert all(0 <= one.saving.low <= one.saves < 1 for one in saving(report))
    if not report.attribution:
        return
    told = {one.kind: one.fraction for one in report.attribution}
    assert {kind: told.get(kind, 0.0) for kind in report.breakdown} == pytest.approx(
        dict(report.breakdown), abs=1e-6
    )
    for kind in report.attribution:
        assert parts_of(kind) == pytest.approx(kind.fraction, abs=1e-6), kind.kind
        for activity in kind.parts:
            assert activity.activity
            assert activity.fraction >= 0
            if activity.parts:
                assert parts_of(activity) == pytest.approx(activity.fraction, abs=1e-6)


def saving(report):
    return [one for one in report.findings if one.saving is not None]


def parts_of(whole):
    return sum(one.fraction for one in whole.parts)


def test_a_value_or_a_reason_stands_for_each_metric(report: Report) -> None:
    assert report.broken == ()
    assert [
        name
        for name, metric in report.metrics.items()
        if (metric.value is None) != (metric.reason is not None)
    ] == []


def test_healthy_is_said_where_the_devices_compute(report: Report) -> None:
    verdict = report.verdict

    for text in texts(report):
        is_said = verdict.healthy and not is_dim(report)
        assert ("HEALTHY" in text) == is_said
        assert is_said or "Found nothing to change" not in text
    if verdict.healthy:
        assert (verdict.bottleneck, report.steps.count >= 5) == ("compute", True)
        assert report.breakdown["compute"] >= 0.8
        assert [
            one.rule_id
            for one in report.findings
            if one.bears_verdict
            and one.severity is not Severity.INFO
            and one.saves >= 0.1
        ] == []


def texts(report: Report) -> tuple[str, str]:
    return as_text(report), as_brief(report)


def test_the_verdict_is_about_the_bar_that_it_stands_over(report: Report) -> None:
    verdict = report.verdict

    if verdict.bottleneck in report.breakdown:
        assert verdict.fraction <= report.breakdown[verdict.bottleneck] + 1e-9
    elif verdict.bottleneck == "imbalance":
        met = any(
            report.metrics[name].value
            for name in ("late_host_fraction", "late_device_fraction")
        )
        assert ("counts as collective below" in verdict.summary) == met
        assert bar_note(report) in " ".join(as_text(report).split())


def test_numbers_that_are_said_twice_are_the_same(report: Report) -> None:
    times, step = report.steps.time_ms, report.metrics["step_time_ms"].value

    if times is not None and step is not None:
        assert step == pytest.approx(times.median)
    for text in texts(report):
        assert not (report.steps.count and "shows no steps" in text)
    if report.metrics["fp16_kernel_share"].value == 0:
        narrow = any(op.precision in NARROW for op in report.ops)
        assert not narrow or report.metrics["matrix_kernel_share"].value, (
            "no kernel multiplies, so no share of 16 bits says anything"
        )


def test_a_minor_finding_saves_no_more_than_it_takes(report: Report) -> None:
    assert [
        one.rule_id
        for one in report.findings
        if one.severity.rank <= Severity.LOW.rank
        and one.takes is not None
        and one.saves > one.takes + 1e-9
    ] == []


def test_no_finding_is_in_the_frameworks_own_wrapper(report: Report) -> None:
    """Where JAX filters tracebacks every frame of the program has one of its own."""
    for one in report.findings:
        assert "reraise_with_filtered_traceback" not in one.summary
        assert all(place.line is None or place.line > 0 for place in one.locations)
        assert not any("traceback_util" in place.file for place in one.locations)


@pytest.mark.parametrize(
    "recording",
    [one for one in RECORDINGS if one.name.startswith("fixtures/gpu")],
    indirect=True,
    ids=lambda one: one.name,
)
def test_what_computes_a_twentieth_of_a_step_on_an_h200_has_a_line(
    report: Report,
) -> None:
    """These recordings hold the HLO of all that ran, and JAX knows the lines."""
    computed = [kind for kind in report.attribution if kind.kind == "compute"]
    assert [
        part.activity
        for kind in computed
        for part in kind.parts
        if part.fraction >= 0.05 and part.activity != OTHER
        if not (part.places and part.places[0].line)
    ] == []


def test_words_are_put_together_well(report: Report) -> None:
    for text in texts(report):
        assert "Do it every" not in text
        assert "from from" not in text


def test_no_golden_report_is_left_of_a_run_that_is_gone() -> None:
    here = {one.golden for one in RECORDINGS}
    folders = [GOLDEN / source for source, folder in SOURCES.items() if folder.is_dir()]

    assert [
        file for folder in folders for file in folder.rglob("*.txt") if file not in here
    ] == []
