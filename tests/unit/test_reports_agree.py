"""Every report of every recorded run, read for sentences and numbers that contradict
each other.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.places import FIXTURES
from support.shared_traces import shared_trace_files

import tfadvisor
from tfadvisor.report.forms.brief import as_brief
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.wording import bar_note
from tfadvisor.vocabulary import Severity

RUNS = [
    *sorted({file.parent for file in FIXTURES.rglob("*.xplane.pb*")}),
    *shared_trace_files(),
]
NARROW = ("fp16", "bf16", "fp8")


def adds_up(report: tfadvisor.Report) -> None:
    """Where the step goes agrees with the breakdown, and the parts of each level with
    what they are parts of.
    """
    assert sum(one.fraction for one in report.attribution) == pytest.approx(
        1 if report.attribution else 0, abs=1e-6
    )
    told = {one.kind: one.fraction for one in report.attribution}
    if report.attribution:
        assert {
            kind: told.get(kind, 0.0) for kind in report.breakdown
        } == pytest.approx(dict(report.breakdown), abs=1e-6)
    for kind in report.attribution:
        assert sum(one.fraction for one in kind.parts) == pytest.approx(
            kind.fraction, abs=1e-6
        ), kind.kind
        assert all(one.fraction >= 0 for one in kind.parts)
        for activity in kind.parts:
            assert activity.activity
            if activity.parts:
                parts = sum(one.fraction for one in activity.parts)
                assert parts == pytest.approx(activity.fraction, abs=1e-6), (
                    activity.activity
                )


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parent.name}/{run.name}")
def test_nothing_in_a_report_contradicts_the_rest(run: Path) -> None:
    try:
        report = tfadvisor.analyze(run).report
    except tfadvisor.TraceError:
        return  # said in one sentence, which test_shared_traces reads
    adds_up(report)
    texts = (as_text(report), as_brief(report))
    verdict, times = report.verdict, report.steps.time_ms

    for text in texts:
        assert ("HEALTHY" in text) == verdict.healthy
        assert not (report.steps.count and "shows no steps" in text)
        assert not (("Found nothing to change" in text) and not verdict.healthy)
        assert "Do it every" not in text
        assert "from from" not in text
    if verdict.healthy:
        assert (verdict.bottleneck, report.steps.count >= 5) == ("compute", True)
        assert report.breakdown["compute"] >= 0.8
        assert all(
            one.saves < 0.1
            for one in report.findings
            if one.bears_verdict and one.severity is not Severity.INFO
        )
    if verdict.bottleneck in report.breakdown:
        assert verdict.fraction <= report.breakdown[verdict.bottleneck] + 1e-9
    elif verdict.bottleneck == "imbalance":
        met = any(
            report.metrics[name].value
            for name in ("late_host_fraction", "late_device_fraction")
        )
        assert ("counts as collective below" in verdict.summary) == met
        assert bar_note(report) in " ".join(texts[0].split())
    if times is not None and (step := report.metrics["step_time_ms"].value) is not None:
        assert step == pytest.approx(times.median)
    for one in report.findings:
        if one.severity.rank <= Severity.LOW.rank and one.takes is not None:
            assert one.saves <= one.takes + 1e-9, one.rule_id
        assert all(place.line is None or place.line > 0 for place in one.locations)
        assert not any("traceback_util" in place.file for place in one.locations)
        assert "reraise_with_filtered_traceback" not in one.summary
    share = report.metrics["fp16_kernel_share"]
    if share.value == 0 and any(op.precision in NARROW for op in report.ops):
        assert report.metrics["matrix_kernel_share"].value, (
            "no kernel multiplies, so no share of 16 bits says anything"
        )
