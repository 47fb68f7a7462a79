"""From metrics to ranked findings and one verdict."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.outcome import outcome_of
from support.trace_builder import trace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.findings import SURE, UNSURE, Finding, NotApplicable, Verdict
from tfadvisor.advice.judging.cause import cause_of
from tfadvisor.advice.judging.conditions import as_example, fill, placeholders
from tfadvisor.advice.judging.judge_rules import judge, run_rules
from tfadvisor.advice.judging.judged import Judged
from tfadvisor.advice.judging.verdict import Seen, verdict_of
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.advice.ranking import Ranking, ranked
from tfadvisor.advice.savings import calibration
from tfadvisor.metrics.registry import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)
from tfadvisor.vocabulary import Severity

RULES = {rule.id: rule for rule in load_catalogue().rules}


def metrics(facts: dict[str, str] | None = None, **values: float) -> Metrics:
    given = {"host_question": "Why?", **(facts or {})}
    return Metrics(
        {
            n: Measured(
                values.get(n), m.unit, "" if n in values else "absent here", m.about
            )
            for n, m in registered_metrics().items()
        },
        {
            n: (given.get(n), "" if n in given else "absent here")
            for n in registered_facts()
        },
    )


def judged(rule: Rule, measured: Metrics) -> Finding:
    outcome = outcome_of(rule, measured)
    assert isinstance(outcome, Finding)
    return outcome


def fired(rule_id: str, measured: Metrics) -> Finding:
    return judged(RULES[rule_id], measured)


def ranking(rules: list[Rule], measured: Metrics) -> Ranking:
    return ranked(run_rules(rules, measured), measured, calibration())


def verdict(shares: dict[str, float], measured: Metrics) -> Verdict:
    """Without findings."""
    return verdict_of(cause_of(shares, measured), shares, measured, [], Seen())


@pytest.mark.parametrize(
    ("share", "severity"),
    [
        (0.5, "critical"),
        (0.49, "high"),
        (0.2, "high"),
        (0.19, "medium"),
        (0.1, "medium"),
        (0.099, "low"),
    ],
)
def test_severity_follows_what_could_go(share: float, severity: str) -> None:
    """All of the wait at most, and 40% at least."""
    facts = {"framework": "jax", "input_frame": "load (a.py:3)"}
    measured = metrics(facts, input_bound_fraction=share)
    rule = RULES["input-loader-in-step"]
    alone = judge(rule, measured)

    assert isinstance(alone, Judged)
    assert (alone.own.low, alone.own.high) == pytest.approx((share * 0.4, share))
    assert judged(rule, measured).severity.value == severity


def test_weak_steps_leave_the_severity_and_say_that_it_is_unsure() -> None:
    facts = {"framework": "jax", "input_frame": "load (a.py:3)"}
    finding = fired(
        "input-loader-in-step",
        metrics(facts, input_bound_fraction=0.9, step_confidence=0.2),
    )

    assert (finding.severity, finding.certainty) == (Severity.CRITICAL, UNSURE)
    assert "whole trace" in finding.caveat


def test_one_step_tells_what_the_device_computes() -> None:
    """It computes the same in every step: sure, beside the caveat. Of fp32 products of
    40% of the step 36 may go.
    """
    facts = {
        "framework": "tensorflow",
        "device_kind": "gpu",
        "sixteen_bit_type": "bfloat16",
    }
    seen = {"fp32_matrix_compute_fraction": 0.4, "step_confidence": 1.0}

    finding = fired("fp32-matrix-kernels", metrics(facts, **seen, steps_counted=1))

    assert (finding.severity, finding.certainty) == (Severity.HIGH, SURE)
    assert "1 whole step:" in finding.caveat


def test_one_step_does_not_tell_what_the_host_does_in_every_step() -> None:
    seen = {
        "loop_python_fraction": 0.6,
        "dispatches_per_step": 4.0,
        "steps_per_execution": 8.0,
    }

    two = outcome_of(
        RULES["host-work-in-loop"],
        metrics({"framework": "tensorflow"}, **seen, steps_counted=2),
    )

    assert isinstance(two, NotApplicable)
    assert (
        two.reason
        == "fewer than three steps cannot show whether the host does this in every step"
    )
    assert fired(
        "host-work-in-loop",
        metrics({"framework": "tensorflow"}, **seen, steps_counted=3),
    )


def test_only_the_fixes_of_the_users_framework_are_given() -> None:
    facts = {"framework": "jax", "input_frame": "load (a.py:3)"}
    jax = fired("input-loader-in-step", metrics(facts, input_bound_fraction=0.3))
    tensorflow = fired(
        "input-loader-in-step",
        metrics({**facts, "framework": "tensorflow"}, input_bound_fraction=0.3),
    )

    assert not any("tf.data" in fix.snippet for fix in jax.fixes)
    assert all("jax" not in fix.snippet for fix in tensorflow.fixes)


def test_a_fix_whose_side_effect_cannot_be_filled_is_left_out() -> None:
    """The trace does not say how many steps could be waited for at once, so a sentence
    about them says nothing.
    """
    rule = RULES["input-loader-in-step"]
    told = replace(
        rule.fixes[1],
        needs=None,
        snippet="",
        side_effect="Shows the loss every {steps_between_waits} steps.",
    )
    facts = {"framework": "jax", "input_frame": "load (a.py:3)"}
    without = metrics(facts, input_bound_fraction=0.3)
    known = metrics({**facts, "steps_between_waits": "20"}, input_bound_fraction=0.3)

    both = replace(
        rule, fixes=(told, replace(told, side_effect="Reads the loss later."))
    )
    assert [fix.side_effect for fix in judged(both, without).fixes] == [
        "Reads the loss later."
    ]
    assert judged(both, known).fixes[0].side_effect == "Shows the loss every 20 steps."


def test_the_place_in_the_users_code_is_a_location() -> None:
    facts = {"framework": "jax", "input_frame": "load_batch (train.py:42)"}
    (location,) = fired(
        "input-loader-in-step", metrics(facts, input_bound_fraction=0.3)
    ).locations

    assert (location.file, location.line, location.op) == ("train.py", 42, "load_batch")


@pytest.mark.parametrize(
    ("place", "location"),
    [
        ("train.py:42", ("train.py", 42, "")),
        ("dense/MatMul:0", None),
        ("next of a queue:3", None),
    ],
)
def test_a_line_of_a_script_is_a_location_and_an_output_of_an_op_is_none(
    place: str, location: tuple[str, int, str] | None
) -> None:
    found = fired(
        "input-loader-in-step",
        metrics({"framework": "jax", "input_frame": place}, input_bound_fraction=0.3),
    )

    assert [(one.file, one.line, one.op) for one in found.locations] == (
        [location] if location else []
    )


def test_missing_data_is_not_applicable_with_the_reason() -> None:
    outcome = outcome_of(RULES["exposed-copies"], metrics({"framework": "jax"}))

    assert outcome == NotApplicable("exposed-copies", "absent here")


def test_findings_are_ranked_by_what_could_go() -> None:
    facts = {"framework": "tensorflow", "hideable_copies": "in"}
    outcomes = ranking(
        list(RULES.values()),
        metrics(
            facts,
            input_bound_fraction=0.2,
            input_wait_ms_per_step=2.0,
            transfer_fraction=0.6,
            hideable_copy_fraction=0.6,
            loop_python_fraction=0.3,
            dispatches_per_step=1,
        ),
    )

    assert [one.rule_id for one in outcomes.findings[:3]] == [
        "exposed-copies",
        "host-work-in-loop",
        "input-bound-steps",
    ]


def test_a_broken_rule_is_reported_and_the_rest_still_run() -> None:
    broken = replace(RULES["exposed-copies"], evidence=("no such metric",))
    outcomes = ranking(
        [broken, RULES["host-work-in-loop"]],
        metrics(
            {"framework": "jax", "hideable_copies": "in"},
            transfer_fraction=0.6,
            hideable_copy_fraction=0.6,
            loop_python_fraction=0.3,
            dispatches_per_step=1,
        ),
    )

    assert [one.rule_id for one in outcomes.findings] == ["host-work-in-loop"]
    assert [one.name for one in outcomes.broken] == ["exposed-copies"]


def test_placeholders_are_replaced_and_never_evaluated() -> None:
    measured = metrics(
        {"input_frame": "{step_time_ms.__class__} {0.__init__}"}, step_time_ms=1.5
    )

    assert fill("{step_time_ms} in {input_frame}, {unknown} {a.b} {0}", measured) == (
        "1.50 ms in {step_time_ms.__class__} {0.__init__}, {unknown} {a.b} {0}"
    )


def test_a_counted_placeholder_takes_the_word_that_fits_the_number() -> None:
    text = (
        "{steps_counted|step|steps}, {kernels_per_step|kernel runs|kernels run}, "
        "{late_host|host|hosts}, {unknown|a|b}"
    )

    assert fill(
        text, metrics({"late_host": None}, steps_counted=1.0, kernels_per_step=2.5)
    ) == ("1 step, 2.5 kernels run, unknown hosts, {unknown|a|b}")


@pytest.mark.parametrize(
    ("names", "called"),
    [
        ("read_rows (train.py:42)", "read_rows"),
        ("Loader.get (train.py:42)", "load_batch"),
        ("__getitem__ (train.py:42)", "load_batch"),
        ("os.system('') (train.py:42)", "load_batch"),
        (None, "load_batch"),
    ],
)
def test_an_example_takes_the_programs_own_function_where_its_name_alone_calls_it(
    names: str | None, called: str
) -> None:
    text = "pool.map({input_frame|load_batch}, {1: 2})"

    assert (
        fill(text, metrics({"input_frame": names})) == f"pool.map({called}, {{1: 2}})"
    )
    assert placeholders(text) == []
    assert as_example(text) == "pool.map(load_batch, {1: 2})"


CLASSES = (
    "compute",
    "collective",
    "transfer",
    "compile",
    "input",
    "launch",
    "host",
    "idle",
)


@pytest.mark.parametrize(
    ("shares", "bottleneck", "healthy"),
    [
        ({"compute": 0.97, "host": 0.03}, "compute", True),
        ({"compute": 0.5, "input": 0.4, "host": 0.1}, "input", False),
        ({"compute": 0.86, "launch": 0.14}, "compute", True),
        ({"compute": 0.2, "idle": 0.8}, "unknown", False),
        ({"idle": 1.0}, "unknown", False),
        ({}, "unknown", False),
    ],
)
def test_the_verdict_names_the_largest_loss(
    shares: dict[str, float], bottleneck: str, healthy: bool
) -> None:
    found = verdict(
        {name: shares.get(name, 0.0) for name in CLASSES},
        metrics({"device_kind": "gpu"}, steps_counted=9),
    )

    assert (found.bottleneck, found.healthy) == (bottleneck, healthy)


def test_a_host_is_no_bottleneck_where_no_device_computes() -> None:
    shares = dict.fromkeys(CLASSES, 0.0) | {"host": 0.9, "compile": 0.1}

    assert verdict(shares, metrics()).bottleneck == "unknown"


def test_imbalance_is_a_bottleneck_of_its_own() -> None:
    found = verdict(
        dict.fromkeys(CLASSES, 0.0) | {"compute": 0.8, "host": 0.2},
        metrics(device_skew_fraction=0.4),
    )

    assert (found.bottleneck, found.fraction) == ("imbalance", 0.4)


def test_a_healthy_trace_has_no_finding_above_low() -> None:
    builder = trace()
    for index in range(6):
        at = index * 1000
        builder.step(at, at + 1000).kernel(
            "GPU:0", "sm90_xmma_gemm_bf16bf16", at + 10, at + 995, launched=(at, at + 4)
        )

    report = builder.report()

    assert report.verdict.healthy
    assert report.verdict.bottleneck == "compute"
    assert all(one.severity.rank <= Severity.LOW.rank for one in report.findings)


def test_a_line_of_5000_digits_is_no_place() -> None:
    facts = {"framework": "jax", "input_frame": f"load (a.py:{'9' * 5000})"}

    assert (
        fired(
            "input-loader-in-step", metrics(facts, input_bound_fraction=0.5)
        ).locations
        == ()
    )
