"""No two findings save the same time: each draws on what those before it leave."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.judging.claims import (
    LESS_IS_LEFT,
    SharedOut,
    classes_of,
    shared_out,
)
from tfadvisor.advice.judging.judge_rules import run_rules
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Rule, SavingRule
from tfadvisor.advice.ranking import ranked, severity
from tfadvisor.advice.savings import calibration
from tfadvisor.metrics.registry import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)
from tfadvisor.vocabulary import TIME_CLASSES, Severity

RULES = {rule.id: rule for rule in load_catalogue().rules}


def made(**values: float) -> Metrics:
    facts = {"framework": "jax", "python_tracer": "off", "host_question": "Why?"}
    return Metrics(
        {
            n: Measured(values.get(n), m.unit, "" if n in values else "absent", m.about)
            for n, m in registered_metrics().items()
        },
        {n: (facts.get(n), "" if n in facts else "absent") for n in registered_facts()},
    )


def run(*rules: Rule, **values: float) -> SharedOut:
    """In the order of the rules."""
    metrics = made(**values)
    return shared_out(run_rules(rules, metrics).judged, metrics)


def drawing(name: str, metric: str, high: float, *of: str) -> Rule:
    """A rule that fires on host time and saves a part of another metric."""
    return replace(
        RULES["host-work-in-loop"],
        id=name,
        saving=SavingRule(metric, high / 2, high, "", of),
    )


HOST = {
    "host_fraction": 0.4,
    "loop_python_fraction": 0.4,
    "dispatches_per_step": 1,
    "compute_fraction": 0.6,
}


def test_the_second_gets_what_the_first_leaves() -> None:
    """Of 40% host time the first saves 24, so 16 are left of the 20 that the second
    would save.
    """
    outcomes = run(
        drawing("first", "host_fraction", 0.6),
        drawing("second", "host_fraction", 0.5),
        **HOST,
    )
    first, second = outcomes.kept

    assert (first.rule.id, first.own.high, first.caveat) == (
        "first",
        pytest.approx(0.24),
        "",
    )
    assert (second.own.low, second.own.high) == (
        pytest.approx(0.1),
        pytest.approx(0.16),
    )
    assert second.caveat == LESS_IS_LEFT
    assert severity(first) is Severity.HIGH
    assert severity(second) is Severity.MEDIUM


def test_the_one_that_saves_most_comes_first_whatever_the_order_of_rules() -> None:
    """Of 40% host time 30 and 20: the larger draws first, and 10 are left."""
    metrics = made(**HOST)
    rules = (
        drawing("less", "host_fraction", 0.5),
        drawing("more", "host_fraction", 0.75),
    )

    found = ranked(run_rules(rules, metrics), metrics, calibration()).findings

    assert [(one.rule_id, one.caveat) for one in found] == [
        ("more", ""),
        ("less", LESS_IS_LEFT),
    ]


def test_a_finding_of_which_nothing_is_left_gives_way_with_the_reason() -> None:
    outcomes = run(
        drawing("first", "host_fraction", 1.0),
        drawing("second", "host_fraction", 0.5),
        **HOST,
    )

    assert [one.rule.id for one in outcomes.kept] == ["first"]
    assert [
        (one.rule_id, "other findings" in one.reason) for one in outcomes.spent
    ] == [("second", True)]


def test_other_classes_of_time_are_left_alone() -> None:
    outcomes = run(
        drawing("host", "host_fraction", 1.0),
        drawing("compute", "compute_fraction", 0.5, "compute"),
        **HOST,
    )

    assert [one.caveat for one in outcomes.kept] == ["", ""]


def test_several_classes_are_drawn_on_in_their_order() -> None:
    """The first takes 40% host and 10% idle; the second finds 10 of the 20% idle."""
    values = {
        "host_fraction": 0.4,
        "loop_python_fraction": 0.4,
        "idle_fraction": 0.2,
        "wait_fraction": 0.5,
        "dispatches_per_step": 1,
    }
    rules = (
        drawing("first", "wait_fraction", 1.0, "host", "idle"),
        drawing("second", "idle_fraction", 1.0, "idle"),
    )

    outcomes = run(*rules, compute_fraction=0.4, **values)

    assert [one.own.high for one in outcomes.kept] == [
        pytest.approx(0.5),
        pytest.approx(0.1),
    ]


def test_where_classes_are_not_known_savings_stay() -> None:
    values = {
        "host_fraction": 0.4,
        "loop_python_fraction": 0.4,
        "dispatches_per_step": 1,
    }
    outcomes = run(
        drawing("first", "host_fraction", 1.0),
        drawing("second", "host_fraction", 0.5),
        **values,
    )

    assert [one.own.high for one in outcomes.kept] == [0.4, 0.2]


def test_every_rule_draws_on_classes_of_the_breakdown() -> None:
    for rule in RULES.values():
        assert set(classes_of(rule)) <= set(TIME_CLASSES), rule.id


def claims_of(outcomes: SharedOut) -> list[tuple[str, ...]]:
    return [one.claims for one in outcomes.kept]


def test_a_finding_claims_the_classes_that_it_takes_time_from() -> None:
    """40% host and 20% idle: the first takes 30 of host, the second the other 10 and 10
    of idle, the third 10 of idle.
    """
    values = HOST | {
        "idle_fraction": 0.2,
        "wait_fraction": 1.0,
        "compute_fraction": 0.4,
    }

    outcomes = run(
        drawing("first", "wait_fraction", 0.3, "host", "idle"),
        drawing("second", "wait_fraction", 0.2, "host", "idle"),
        drawing("third", "wait_fraction", 0.1, "host", "idle"),
        **values,
    )

    assert [one.own.high for one in outcomes.kept] == pytest.approx([0.3, 0.2, 0.1])
    assert claims_of(outcomes) == [("host",), ("host", "idle"), ("idle",)]


def test_where_classes_are_not_known_a_finding_claims_all_that_its_rule_names() -> None:
    values = {
        "host_fraction": 0.4,
        "loop_python_fraction": 0.4,
        "dispatches_per_step": 1,
    }

    assert claims_of(
        run(drawing("first", "host_fraction", 1.0, "host", "idle"), **values)
    ) == [("host", "idle")]


def test_a_rule_without_a_saving_is_about_its_category_but_not_about_everything() -> (
    None
):
    """Full memory is memory's; a trace without markers is about no time at all."""
    assert classes_of(RULES["small-memory-pool"]) == ("launch", "host", "idle")
    assert classes_of(RULES["no-step-markers"]) == ()


WAITS = ("idle", "launch", "host", "input")
ALL = (
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
    ("category", "classes"),
    [
        ("imbalance", ("collective", *WAITS, "compute")),
        ("memory", ("launch", "host", "idle")),
        ("placement", ("launch", "host", "idle", "transfer")),
        ("precision", ("compute",)),
        ("kernel", ("compute",)),
        ("compute", ("compute",)),
        ("capture", ALL),
        ("flags", ALL),
        ("transfer", ("transfer",)),
        ("input", ("input",)),
    ],
)
def test_a_category_says_where_a_saving_comes_from(
    category: str, classes: tuple[str, ...]
) -> None:
    """A late device shows as waiting first; a call into the driver as launch; what has
    no other home is its own class.
    """
    rule = replace(drawing("one", "host_fraction", 0.5), category=category)

    assert classes_of(rule) == classes
    assert classes_of(replace(rule, saving=None)) == (() if classes == ALL else classes)
    assert classes_of(replace(rule, saving=replace(rule.saving, of=("idle",)))) == (
        "idle",
    )


@pytest.mark.parametrize("name", ALL)
def test_each_class_is_shared_out_by_its_own_metric(name: str) -> None:
    """Two findings want 30% of step time each, and the class holds 40."""
    metric = {
        "compute": "compute_fraction",
        "collective": "exposed_collective_fraction",
        "transfer": "transfer_fraction",
        "compile": "compile_fraction",
        "input": "input_bound_fraction",
        "launch": "kernel_launch_gap_fraction",
        "host": "host_fraction",
        "idle": "idle_fraction",
    }[name]
    rules = (
        drawing("first", "wait_fraction", 1.0, name),
        drawing("second", "wait_fraction", 1.0, name),
    )
    known = {
        "loop_python_fraction": 0.4,
        "dispatches_per_step": 1,
        "compute_fraction": 0.0,
        "wait_fraction": 0.3,
    }

    outcomes = run(*rules, **{**known, metric: 0.4})

    assert [one.own.high for one in outcomes.kept] == [0.3, pytest.approx(0.1)]


@pytest.mark.parametrize(("left", "named"), [(0.01, True), (0.0099, False)])
def test_less_than_a_hundredth_of_the_step_is_not_worth_a_finding(
    left: float, named: bool
) -> None:
    """It wants 20% of idle time and finds what there is."""
    known = {
        "loop_python_fraction": 0.4,
        "dispatches_per_step": 1,
        "compute_fraction": 0.5,
    }

    outcomes = run(
        drawing("one", "loop_python_fraction", 0.5, "idle"), idle_fraction=left, **known
    )

    assert [one.rule.id for one in outcomes.kept] == (["one"] if named else [])


def test_a_class_whose_share_is_not_known_holds_nothing() -> None:
    """Of dispatch nothing is known: who wants that alone gets nothing, and who wants
    the host's as well takes all there.
    """
    known = {
        "loop_python_fraction": 0.4,
        "dispatches_per_step": 1,
        "compute_fraction": 0.5,
        "host_fraction": 0.4,
    }
    first = drawing("first", "loop_python_fraction", 0.5, "launch", "host")
    second = drawing("second", "loop_python_fraction", 0.5, "host")
    third = drawing("third", "loop_python_fraction", 0.5, "launch")

    outcomes = run(first, second, third, **known)

    assert [(one.rule.id, one.own.high, one.caveat) for one in outcomes.kept] == [
        ("first", 0.2, ""),
        ("second", 0.2, ""),
    ]
    assert [one.rule_id for one in outcomes.spent] == ["third"]


def test_a_finding_that_gets_all_but_a_rounding_error_is_whole() -> None:
    """0.1 + 0.2 is a little more than the 0.3 that the host holds."""
    values = {
        "loop_python_fraction": 0.4,
        "dispatches_per_step": 1,
        "compute_fraction": 0.7,
        "wait_fraction": 0.1 + 0.2,
    }

    (whole,) = run(
        drawing("one", "wait_fraction", 1.0), host_fraction=0.3, **values
    ).kept

    assert (whole.own.high, whole.caveat) == (0.1 + 0.2, "")


def test_a_small_finding_that_is_served_in_full_stays() -> None:
    values = {
        "loop_python_fraction": 0.4,
        "dispatches_per_step": 1,
        "compute_fraction": 0.7,
        "wait_fraction": 0.005,
    }

    (small,) = run(
        drawing("one", "wait_fraction", 1.0), host_fraction=0.3, **values
    ).kept

    assert (small.own.low, small.own.high) == (0.0025, 0.005)


def test_where_less_is_left_than_the_least_that_was_promised_both_are_cut() -> None:
    """40 to 80% of 50 are promised, 10 are left: 10 to 10."""
    first = drawing("first", "wait_fraction", 1.0)
    second = replace(
        first, id="second", saving=SavingRule("loop_python_fraction", 0.4, 0.8, "")
    )
    known = {
        "loop_python_fraction": 0.5,
        "dispatches_per_step": 1,
        "compute_fraction": 0.5,
        "wait_fraction": 0.4,
    }

    cut = run(first, second, host_fraction=0.5, **known).kept[1]

    assert (cut.own.low, cut.own.high) == (pytest.approx(0.1), pytest.approx(0.1))


def test_the_caveat_of_a_weak_trace_stays_before_that_of_the_cut() -> None:
    rules = [
        drawing(name, "host_fraction", high, "host")
        for name, high in (("first", 0.75), ("second", 0.5))
    ]
    first, second = run(
        *(replace(one, category="launch") for one in rules), step_confidence=0.2, **HOST
    ).kept

    assert LESS_IS_LEFT not in first.caveat
    assert second.caveat == f"{first.caveat} {LESS_IS_LEFT}"


def test_a_class_of_which_nothing_is_known_serves_nobody() -> None:
    known = {
        "loop_python_fraction": 0.4,
        "dispatches_per_step": 1,
        "compute_fraction": 0.5,
    }

    outcomes = run(drawing("one", "loop_python_fraction", 0.5, "launch"), **known)

    assert (outcomes.kept, [one.rule_id for one in outcomes.spent]) == (
        (),
        ["one"],
    )


def test_a_finding_that_saves_nothing_is_still_about_its_classes() -> None:
    """Of fixed severity, it takes no time from anybody."""
    rule = replace(
        drawing("one", "host_fraction", 0.5),
        saving=None,
        severity=Severity.HIGH,
        category="memory",
    )

    assert claims_of(run(rule, **HOST)) == [("launch", "host", "idle")]


def test_what_is_not_proven_takes_nothing_from_what_is_shown() -> None:
    """Of 40% host time a documented rule would take 32 and stands first; the shown one
    keeps its 24, and 16 are left to the other.
    """
    metrics = made(**HOST)
    documented = drawing("documented", "host_fraction", 0.8)
    judged = run_rules([documented, drawing("shown", "host_fraction", 0.6)], metrics)

    first, second = shared_out(judged.judged, metrics, {"shown"}).kept

    assert (first.rule.id, first.own.high) == ("documented", pytest.approx(0.16))
    assert (second.rule.id, second.own.high) == ("shown", pytest.approx(0.24))
    assert (first.caveat, second.caveat) == (LESS_IS_LEFT, "")
