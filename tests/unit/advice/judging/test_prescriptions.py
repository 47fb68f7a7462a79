"""No rule prescribes something empty or general: on recorded traces, and wherever its
own cases make it fire.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.outcome import outcome_of
from support.places import FIXTURES, ROOT

import tfadvisor
import tfadvisor.metrics
from tfadvisor.advice.checking.cases import Case, load_cases, metrics_of
from tfadvisor.advice.findings import Finding
from tfadvisor.advice.judging.conditions import is_known, names_in, placeholders
from tfadvisor.advice.judging.judge_rules import run_rules
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.advice.ranking import ranked
from tfadvisor.advice.savings import calibration
from tfadvisor.metrics.registry import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)

FOLDERS = sorted(path.parent for path in FIXTURES.glob("*/truth.yaml"))
RULES = load_catalogue().rules
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


def fired_cases(rule: Rule) -> list[Case]:
    file = ROOT / rule.file
    return [
        case
        for case in load_cases(file.with_name(f"{file.stem}.cases.yaml"))
        if case.expect == "fired"
    ]


def with_everything(rule: Rule, case: Case) -> Metrics:
    """The case, and a value for all that no condition of the rule asks for."""
    metrics = metrics_of(case)
    asked = {
        name
        for when in (rule.when, *(fix.needs for fix in rule.fixes))
        if when is not None
        for name in names_in(when)
    }
    enough = {"steps_counted": 10.0, "step_confidence": 1.0}
    values = {
        n: metrics[n]
        if n in asked
        else replace(metrics[n], value=metrics[n].value or enough.get(n, 0.25))
        for n in metrics
    }
    others = {
        "framework_version": "0.10.2"
        if metrics.fact("framework") == "jax"
        else "2.21.0"
    }
    facts = {
        n: (
            metrics.fact(n) if n in asked else metrics.fact(n) or others.get(n, "7"),
            "",
        )
        for n in registered_facts()
    }
    return Metrics(values, facts)


def assert_worth_printing(finding: Finding, framework: str | None) -> None:
    """Of a framework in whose words fixes are written, each has code."""
    for text in (finding.title, finding.summary, *(fix.do for fix in finding.fixes)):
        assert text.strip(), finding.rule_id
    assert finding.fixes, finding.rule_id
    for fix in finding.fixes:
        has_code = fix.snippet.strip() or fix.env
        assert has_code or framework not in ("tensorflow", "jax"), finding.rule_id
        assert fix.valid_for.strip(), finding.rule_id
        assert len(fix.do) > 10, (finding.rule_id, fix.do)
        for text in (fix.do, fix.snippet, fix.side_effect, *fix.env.values()):
            assert not re.search(r"\bunknown\b", text), (finding.rule_id, text)
            assert not [name for name in placeholders(text) if is_known(name)], (
                finding.rule_id,
                text,
            )


@each_rule
def test_every_case_that_fires_prescribes_an_edit(rule: Rule) -> None:
    for case in fired_cases(rule):
        metrics = metrics_of(case)
        outcome = outcome_of(rule, metrics)
        assert isinstance(outcome, Finding)
        assert_worth_printing(outcome, metrics.fact("framework"))


@each_rule
def test_with_all_metrics_at_hand_no_text_has_a_gap(rule: Rule) -> None:
    for case in fired_cases(rule):
        metrics = with_everything(rule, case)
        outcome = outcome_of(rule, metrics)
        assert isinstance(outcome, Finding), case.name
        assert_worth_printing(outcome, metrics.fact("framework"))
        assert "{" not in outcome.summary
        assert "unknown" not in outcome.summary.split(), outcome.summary


@each_rule
def test_every_fix_is_shown_for_some_case_of_its_rule(rule: Rule) -> None:
    """A fix that no run would ever see is no fix."""
    shown = set()
    for case in fired_cases(rule):
        for metrics in (metrics_of(case), with_everything(rule, case)):
            outcome = outcome_of(rule, metrics)
            assert isinstance(outcome, Finding)
            shown |= {(fix.kind, fix.valid_for) for fix in outcome.fixes}

    for fix in rule.fixes:  # what the flags' version says is added behind
        assert any(
            kind == fix.kind and valid.startswith(fix.valid_for)
            for kind, valid in shown
        ), fix.do


@each_rule
def test_texts_name_only_metrics_and_facts(rule: Rule) -> None:
    for fix in rule.fixes:
        for text in (fix.do, fix.side_effect, *fix.env.values()):
            assert all(is_known(name) for name in placeholders(text)), (rule.id, text)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_findings_on_recorded_traces_prescribe_edits_and_none_saves_anothers_time(
    folder: Path,
) -> None:
    report = tfadvisor.analyze(folder).report

    for finding in report.findings:
        assert_worth_printing(finding, report.run.framework)
    assert sum(one.saves for one in report.findings) <= 1 + 1e-9
    assert all(
        0 <= one.saving.low <= one.saving.high for one in report.findings if one.saving
    )


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_everything_at_once_saves_no_more_than_the_step(device: str) -> None:
    """All rules on metrics that make most of them fire. No host or device is late, which
    would take the time of all classes.
    """
    shares = {
        "late_host_fraction": 0.0,
        "late_device_fraction": 0.0,
        "device_skew_fraction": 0.0,
        "compute_fraction": 0.4,
        "exposed_collective_fraction": 0.2,
        "transfer_fraction": 0.1,
        "compile_fraction": 0.05,
        "input_bound_fraction": 0.1,
        "kernel_launch_gap_fraction": 0.1,
        "host_fraction": 0.05,
        "converting_fraction": 0.0,
        "flattening_fraction": 0.0,
    }
    values = {
        n: shares.get(n, 0.4 if n.endswith("_fraction") else 100.0)
        for n in registered_metrics()
    }
    measured = {
        n: Measured(values[n], m.unit, "", m.about)
        for n, m in registered_metrics().items()
    }
    facts = dict.fromkeys(registered_facts(), ("2", ""))
    facts |= {
        "framework": ("jax", ""),
        "device_kind": (device, ""),
        "compiler": ("xla", ""),
        "framework_version": ("0.10.2", ""),
        "communication_cause": ("other", ""),
        "hideable_copies": ("in", ""),
        "step_fragment": (None, "whole steps were recorded"),
    }
    in_each = (None, "it lies in each step")
    facts |= {name: in_each for name in facts if name.endswith("_in_few_steps")}

    made = Metrics(measured, facts)
    found = ranked(run_rules(RULES, made), made, calibration())

    assert len(found.findings) > 10
    assert found.broken == ()
    assert any(one.saves for one in found.findings)
    assert sum(one.saves for one in found.findings) <= 1 + 1e-9
    computed = [
        one.saves for one in found.findings if one.category in ("kernel", "precision")
    ]
    assert sum(computed) <= shares["compute_fraction"] + 1e-9
