"""Saving, severity, certainty and order of findings, decided once from what the rules saw
and what is known beside the trace.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.evidence import Correction, Evidence
from tfadvisor.advice.findings import OUTSIDE, SURE, UNSURE, Finding, Location, Tried
from tfadvisor.advice.judging.cause import Cause, Kind
from tfadvisor.advice.judging.claims import LESS_IS_LEFT
from tfadvisor.advice.judging.judge_rules import run_rules
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Cap, Rule, SavingRule
from tfadvisor.advice.outside import MADE_ANEW
from tfadvisor.advice.ranking import Ranking, ranked, severity_of
from tfadvisor.advice.savings import Calibration, FaultTime, Held
from tfadvisor.causes import ProgramSource
from tfadvisor.causes.account import (
    BUILDING,
    BeforeSteps,
    RunAccount,
    RunPart,
    RunPlace,
    RunShare,
)
from tfadvisor.metrics.registry import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)
from tfadvisor.vocabulary import Severity

(HOST,) = (one for one in load_catalogue().rules if one.id == "host-work-in-loop")
HALF = FaultTime(left=0.5, keeps={}, spread=0.0, pairs=7)
"""Of a fault whose time goes by half, and with which nothing else goes."""
KNOWN = Calibration(
    devices=("cpu",),
    class_of={},
    faults={"host": HALF},
    held={"gpu": Held("On a GPU", {"host": 7})},
)
STEP = {
    "compute_fraction": 0.4,
    "host_fraction": 0.6,
    "loop_python_fraction": 0.6,
    "dispatches_per_step": 1.0,
    "steps_counted": 9.0,
    "step_confidence": 1.0,
}
"""60% of the step is Python on the host."""
FACTS = {
    "framework": "jax",
    "device_kind": "cpu",
    "python_tracer": "off",
    "host_question": "Why?",
}


def metrics(facts: dict[str, str], values: dict[str, float]) -> Metrics:
    return Metrics(
        {
            n: Measured(values.get(n), m.unit, "" if n in values else "absent", m.about)
            for n, m in registered_metrics().items()
        },
        {n: (facts.get(n), "" if n in facts else "absent") for n in registered_facts()},
    )


def rule(name: str, high: float = 1.0, **changes: Any) -> Rule:
    """Saves so much of 40% of the step, which is Python on the host, and at least half
    as much.
    """
    saving = SavingRule("taking_turns_fraction", high / 2, high, "Why.", ("host",))
    given = {
        "id": name,
        "saving": saving,
        "locations": ("host_frame",),
        "at_most": None,
    }
    return replace(HOST, **(given | changes))


def ranking(
    *rules: Rule,
    evidence: Evidence | None = None,
    cause: Cause | None = None,
    facts: dict[str, str] | None = None,
    **values: float,
) -> Ranking:
    shares = {"taking_turns_fraction": 0.4, "crowded_launch_fraction": 0.12}
    known = {**STEP, **shares, **values}
    measured = metrics({**FACTS, **(facts or {})}, known)
    fired = run_rules(rules, measured)
    return ranked(fired, measured, KNOWN, evidence or Evidence(), cause)


def one_of(found: Ranking) -> Finding:
    (one,) = found.findings
    return one


def ids(found: Ranking) -> list[str]:
    return [one.rule_id for one in found.findings]


def saves(one: Finding) -> tuple[float, float] | None:
    return None if one.saving is None else (one.saving.low, one.saving.high)


# Size, severity, certainty.


def test_without_anything_beside_the_trace_a_finding_is_what_its_rule_saw() -> None:
    """It takes 40% of the step, of which half goes."""
    one = one_of(ranking(rule("a")))

    assert (one.severity, one.certainty, one.takes) == (Severity.HIGH, SURE, 0.4)
    assert saves(one) == pytest.approx((0.2, 0.2))
    assert (one.proof, one.tried, one.locations) == ("shown", msgspec.UNSET, ())


@pytest.mark.parametrize(
    ("size", "severity"),
    [
        (0.5, "critical"),
        (0.499, "high"),
        (0.2, "high"),
        (0.199, "medium"),
        (0.1, "medium"),
        (0.099, "low"),
        (0.03, "low"),
        (0.029, "info"),
    ],
)
def test_severity_changes_at_50_20_10_and_3_percent(size: float, severity: str) -> None:
    assert severity_of(size).value == severity


@pytest.mark.parametrize(
    ("weak", "certainty"),
    [({}, SURE), ({"steps_counted": 2.0}, UNSURE), ({"step_confidence": 0.2}, UNSURE)],
)
def test_few_or_guessed_steps_change_certainty_and_range_and_no_severity(
    weak: dict[str, float], certainty: str
) -> None:
    one = one_of(ranking(rule("a", category="launch"), **weak))
    same = one_of(ranking(rule("a", category="host")))

    assert (one.severity, one.certainty) == (same.severity, certainty)
    assert one.saving is None


def test_a_rule_on_trial_and_a_question_are_low_whatever_they_take() -> None:
    """Half of 50%, which would go, is then not printed beside it; 10% are."""
    large, small = (
        one_of(ranking(rule("a", tier="preview"), taking_turns_fraction=share))
        for share in (0.5, 0.2)
    )
    question = one_of(ranking(rule("a", proof="likely", ask="Needed?")))
    fixed = one_of(
        ranking(rule("a", tier="preview", saving=None, severity=Severity.CRITICAL))
    )

    assert (large.severity, large.saving, large.takes) == (Severity.LOW, None, 0.5)
    assert (small.severity, saves(small)) == (Severity.LOW, pytest.approx((0.1, 0.1)))
    assert (question.severity, question.saving) == (Severity.LOW, None)
    assert question.takes == 0.4
    assert fixed.severity is Severity.LOW


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.12, 0.25, 0.4, 0.6])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tier": "preview"},
        {"proof": "documented"},
        {"proof": "likely", "ask": "Needed?"},
        {"category": "launch"},
    ],
    ids=str,
)
@pytest.mark.parametrize("weak", [{}, {"steps_counted": 1.0}], ids=str)
def test_nothing_is_low_and_saves_a_fifth_of_the_step(
    device: str, share: float, changes: dict[str, Any], weak: dict[str, float]
) -> None:
    wide = FaultTime(left=0.0, keeps={"kernels": 0.0}, spread=3.0, pairs=2)
    known = replace(KNOWN, faults={"host": wide, "launch": wide})
    values = {**STEP, "taking_turns_fraction": share, **weak}
    measured = metrics({**FACTS, "device_kind": device}, values)

    found = ranked(run_rules([rule("a", **changes)], measured), measured, known)

    for one in found.findings:
        assert one.severity.rank > Severity.LOW.rank or one.saves < 0.2


# What is known beside the trace.


def test_what_is_ignored_is_no_finding_and_takes_no_time_from_others() -> None:
    """Of 60% host time both want 40, so 20 are left to b: without a it is larger."""
    both = ranking(rule("a"), rule("b"))
    known = Evidence(ignored={"a*": "accepted by Ada"})

    found = ranking(rule("a"), rule("b"), evidence=known)

    assert [one.takes for one in both.findings] == [0.4, 0.4]
    assert [one.caveat for one in both.findings] == ["", LESS_IS_LEFT]
    assert [(one.rule_id, one.caveat) for one in found.findings] == [("b", "")]
    assert [(one.rule_id, one.note) for one in found.notes] == [
        ("a", "a: accepted by Ada")
    ]
    assert both.notes == ()


def test_a_pattern_that_fits_no_finding_leaves_no_note() -> None:
    found = ranking(rule("a"), evidence=Evidence(ignored={"other-*": "known"}))

    assert ids(found) == ["a"]
    assert found.notes == ()


def tried(outcome: str, low: float, high: float) -> Tried:
    return Tried(
        (low + high) / 2,
        low,
        high,
        0.2,
        0.4,
        outcome,
        "prefetch",
        "2026-01-02T03:04:05+00:00",
        "cpu",
    )


def test_what_was_measured_on_this_program_is_what_a_finding_saves() -> None:
    """5 to 15% and not the 20 that are foreseen, and so medium."""
    known = Evidence(tried={"a": tried("better", 0.05, 0.15)})

    one = one_of(ranking(rule("a"), evidence=known))

    assert saves(one) == (0.05, 0.15)
    assert one.saving is not None
    assert one.saving.basis == "Measured here, at 2026-01-02T03:04:05+00:00."
    assert (one.severity, one.proof) == (Severity.MEDIUM, "measured")
    assert one.tried == known.tried["a"]


def test_what_was_measured_is_never_below_nothing() -> None:
    known = Evidence(tried={"a": tried("better", -0.02, 0.15)})

    assert saves(one_of(ranking(rule("a"), evidence=known))) == (0.0, 0.15)


@pytest.mark.parametrize("outcome", ["not better", "cannot tell"])
def test_what_did_not_win_is_said_and_changes_nothing(outcome: str) -> None:
    known = Evidence(tried={"a": tried(outcome, -0.1, 0.1)})

    one = one_of(ranking(rule("a"), evidence=known))
    alone = one_of(ranking(rule("a")))

    assert replace(one, tried=msgspec.UNSET) == alone
    assert one.tried == known.tried["a"]


@pytest.mark.parametrize(
    "changes",
    [
        {"proof": "likely", "ask": "Needed?"},
        {"proof": "documented"},
        {"saving": None, "severity": Severity.LOW},
        {"at_most": Cap(Severity.LOW, None)},
    ],
    ids=["a question", "a guide's", "of fixed severity", "bounded by its rule"],
)
def test_a_measurement_lifts_every_ceiling(changes: dict[str, Any]) -> None:
    """60% saved on this program is critical, whatever stood behind the rule before; a
    question is answered.
    """
    known = Evidence(tried={"a": tried("better", 0.55, 0.65)})

    one = one_of(ranking(rule("a", **changes), evidence=known))

    assert (one.severity, one.proof) == (Severity.CRITICAL, "measured")
    assert saves(one) == (0.55, 0.65)
    assert (one.ask, one.is_question, one.bears_verdict) == (msgspec.UNSET, False, True)


def test_what_was_measured_comes_by_what_it_saved_and_is_sure() -> None:
    """b would take 12% of two steps' computing; a, a question whose answer saves 50 to
    60%, comes before it.
    """
    known = Evidence(tried={"a": tried("better", 0.5, 0.6)})
    asks = rule("a", category="input", proof="likely", ask="Needed?")

    before = ranking(asks, computing("b"), steps_counted=2.0)
    found = ranking(asks, computing("b"), evidence=known, steps_counted=2.0)

    assert (ids(before), ids(found)) == (["b", "a"], ["a", "b"])
    assert [one.certainty for one in before.findings] == [SURE, UNSURE]
    assert [one.certainty for one in found.findings] == [SURE, SURE]


AT_LOG = {"host_frame": "log (/home/me/train.py:7)"}


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_what_recording_makes_larger_takes_and_saves_less(device: str) -> None:
    """log takes a quarter of what the trace shows: 10 of 40%, which is medium. On a CPU
    half of it goes, on a GPU half of it or more.
    """
    known = Evidence(corrections=(Correction("train.py", "log", 0.25, is_larger=True),))
    facts = {**AT_LOG, "device_kind": device}

    one = one_of(ranking(rule("a"), evidence=known, facts=facts))
    elsewhere = one_of(
        ranking(rule("a"), evidence=known, facts={**facts, "host_frame": "f (b.py:3)"})
    )

    assert (one.takes, one.severity) == (pytest.approx(0.1), Severity.MEDIUM)
    assert saves(one) == pytest.approx((0.05, 0.05 if device == "cpu" else 0.1))
    assert (elsewhere.takes, elsewhere.severity) == (0.4, Severity.HIGH)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_what_a_trace_hides_makes_all_else_take_and_save_less(device: str) -> None:
    """A function that is hidden leaves half for all others: 20%, high all the same. On a
    CPU half of that goes.
    """
    goes = 0.5 if device == "cpu" else 1.0
    known = Evidence(corrections=(Correction("train.py", "fit", 0.5, is_larger=False),))
    facts = {"device_kind": device}

    hidden, other = (
        one_of(ranking(rule("a"), evidence=known, facts={**facts, "host_frame": place}))
        for place in ("fit (train.py:9)", "log (train.py:7)")
    )

    assert (hidden.takes, hidden.saves) == (0.4, pytest.approx(0.4 * goes))
    assert (other.takes, other.saves) == (0.2, pytest.approx(0.2 * goes))
    assert other.severity is Severity.HIGH


def test_a_script_outside_of_its_functions_is_one_place() -> None:
    known = Evidence(corrections=(Correction("train.py", "", 0.5, is_larger=True),))

    one = one_of(
        ranking(
            rule("a"),
            evidence=known,
            facts={"host_frame": "<module> (/home/me/train.py:7)"},
        )
    )

    assert one.takes == 0.2


@pytest.mark.parametrize(("line", "takes"), [(2, 0.4), (3, 0.2)])
def test_a_line_alone_is_of_the_function_that_holds_it(
    tmp_path: Path, line: int, takes: float
) -> None:
    """fit, which a trace hides, holds line 2: all else takes half."""
    (tmp_path / "train.py").write_text("def fit(x):\n    return step(x)\nfit(1)\n")
    known = Evidence(
        corrections=(Correction("train.py", "fit", 0.5, is_larger=False),),
        source=ProgramSource(tmp_path),
    )
    facts = {"host_frame": f"train.py:{line}"}

    assert one_of(ranking(rule("a"), evidence=known, facts=facts)).takes == takes


def run(evaluation: float) -> RunAccount:
    """Steps, and evaluation, twice in 100 s."""
    steps = RunPart("steps", "steps", 1 - evaluation, 100 * (1 - evaluation), 90)
    place = RunPlace("train.py", 8, "main")
    other = RunPart(
        "evaluation", "evaluation", evaluation, 100 * evaluation, 70, (place,), 2
    )
    before = BeforeSteps(0.0, ())
    return RunAccount(
        100.0, "first step", steps.fraction, (steps, other), 200, 0.0, before
    )


def test_samples_of_the_whole_run_speak_for_what_lies_between_steps() -> None:
    between = rule("a", only_without_samples=True)
    seen = Evidence(account=run(0.02))

    assert [one.rule_id for one in ranking(between).findings] == ["a"]
    assert ranking(between, evidence=seen).findings == ()


@pytest.mark.parametrize(
    ("share", "order"),
    [
        (0.30, [OUTSIDE, "a", "b"]),
        (0.15, ["a", OUTSIDE, "b"]),
        (0.08, ["a", "b", OUTSIDE]),
        (0.02, ["a", "b"]),
    ],
)
def test_what_is_no_step_ranks_by_its_share_of_the_run(
    share: float, order: list[str]
) -> None:
    """a saves 20% of the step, which are 14% of a run of which 30% are evaluation, and
    17% where those are 15%; of b 10% are printed, measured here. 2% are no finding.
    """
    known = Evidence(tried={"b": tried("better", 0.05, 0.1)}, account=run(share))

    assert ids(ranking(rule("a"), rule("b"), evidence=known)) == order


def test_what_gives_up_something_stands_behind_what_is_worth_a_change() -> None:
    """a saves up to 40% of the step and says itself that it is low; 15% of the run are
    evaluation, and b takes 20% of the step.
    """
    capped = rule("a", at_most=Cap(Severity.LOW, None))
    known = Evidence(account=run(0.15))

    assert ids(ranking(capped, rule("b", high=0.5))) == ["b", "a"]
    assert ids(ranking(capped, evidence=known)) == [OUTSIDE, "a"]


@pytest.mark.parametrize(("compute", "is_heard"), [(0.5, True), (0.8, False)])
def test_ops_whose_calls_wait_for_the_devices_are_no_finding(
    compute: float, is_heard: bool
) -> None:
    """Of 90% of the run samples find the thread in the call of an op; it waits there
    for what is queued where the devices are idle for 20% of the time only.
    """
    place = RunPlace("train.py", 63, "main")
    op = RunPart("add", "other", 0.9, 90.0, 900, (place,), op_by_op=0.9)
    steps = RunPart("steps", "steps", 1.0, 100.0, 1000, statements=(op,))
    account = replace(run(0.0), parts=(steps,), steps=1.0)

    found = ranking(evidence=Evidence(account=account), compute_fraction=compute)

    assert bool(found.findings) is is_heard


def test_a_window_without_such_ops_says_nothing_of_them() -> None:
    """The recorded steps keep the devices busy for 80%, and dispatch no op alone."""
    place = RunPlace("train.py", 63, "main")
    op = RunPart("add", "other", 0.9, 90.0, 900, (place,), op_by_op=0.9)
    steps = RunPart("steps", "steps", 1.0, 100.0, 1000, statements=(op,))
    account = replace(run(0.0), parts=(steps,), steps=1.0)
    known = Evidence(account=account)

    assert ids(ranking(evidence=known, compute_fraction=0.8, ops_one_by_one=0)) == [
        OUTSIDE
    ]
    assert ids(ranking(evidence=known, compute_fraction=0.8, ops_one_by_one=8)) == []


BUILT = "a pipeline that Keras builds for each call of predict or evaluate"


@pytest.mark.parametrize(
    ("cures", "names"), [(BUILT, ["a"]), ("Python in the loop", [OUTSIDE, "a"])]
)
def test_what_a_rule_cures_in_the_steps_is_told_once(
    cures: str, names: list[str]
) -> None:
    """90% of the run is predict, of which 80% builds pipelines."""
    place = RunPlace("train.py", 23, "classify")
    builds = RunShare(BUILDING, "building", 0.8, 80.0, 800)
    line = RunPart("predict", "prediction", 0.9, 90.0, 900, (place,), None, (builds,))
    steps = RunPart("steps", "steps", 1.0, 100.0, 1000, statements=(line,))
    account = replace(run(0.0), parts=(steps,), steps=1.0)
    fixes = tuple(replace(fix, cures=cures) for fix in HOST.fixes)

    known = Evidence(account=account)
    heard = rule("a", fixes=fixes, only_without_samples=False)
    found = ranking(heard, evidence=known)

    assert ids(found) == names


def test_what_compiles_in_the_steps_too_is_one_finding() -> None:
    """60% of the run compiles outside of the steps. a, which compiles in them, says it
    with its own cause, and stands where 60% stand; b saves 17% of the step.
    """
    compiling = replace(run(0.6), parts=tuple(map(as_compiling, run(0.6).parts)))
    known = Evidence(account=compiling)
    found = ranking(rule("b"), rule("a", category="compile"), evidence=known).findings

    assert [one.rule_id for one in found] == ["a", "b"]
    assert found[0].severity is Severity.CRITICAL
    assert "Of the run: 60 s of the 100 s" in found[0].summary
    assert found[0].locations == (Location("train.py", 8, "main"),)


def test_of_several_parts_that_compile_the_largest_is_said_of_the_run() -> None:
    """40 s of the 100 s on one line, 20 s on another."""
    steps, most = map(as_compiling, run(0.4).parts)
    less = replace(most, fraction=0.2, seconds=20.0, places=(RunPlace("a.py", 9, "f"),))
    account = replace(run(0.4), parts=(replace(steps, fraction=0.4), most, less))

    known = Evidence(account=account)
    (found,) = ranking(rule("a", category="compile"), evidence=known).findings

    assert found.summary.count("Of the run: ") == 1
    assert "Of the run: 40 s of the 100 s" in found.summary


MAKES = """\
import jax
def score(params, x):
    f = jax.jit(lambda p, x: model(p, x))
    return f(params, x)
for step in range(9):
    score(params, x)
"""


@pytest.mark.parametrize(("kind", "is_theirs"), [("code", False), ("command", True)])
def test_where_a_rule_only_asks_what_compiles_samples_with_the_source_say_it(
    tmp_path: Path, kind: str, is_theirs: bool
) -> None:
    (tmp_path / "train.py").write_text(MAKES)
    part = as_compiling(run(0.6).parts[1])
    part = replace(part, places=(RunPlace("train.py", 4, "score"),))
    account = replace(run(0.6), parts=(run(0.6).parts[0], part))
    known = Evidence(account=account, source=ProgramSource(tmp_path))
    fixes = tuple(replace(fix, kind=kind) for fix in HOST.fixes)

    (found,) = ranking(
        rule("a", category="compile", fixes=fixes), evidence=known
    ).findings

    assert [fix.cures == MADE_ANEW for fix in found.fixes] == [is_theirs] * len(
        found.fixes
    )
    assert found.fixes


def as_compiling(part: RunPart) -> RunPart:
    kind = "steps" if part.kind == "steps" else "compile"
    return replace(part, kind=kind)


def test_a_finding_about_the_step_weighs_what_it_takes_of_the_run() -> None:
    """It takes 40% of the step: high, and 18% of the run: medium."""
    alone = one_of(ranking(rule("a")))
    in_run = ranking(rule("a"), evidence=Evidence(account=run(0.55))).findings[1]

    assert (alone.severity, in_run.severity) == (Severity.HIGH, Severity.MEDIUM)
    assert in_run.saving == alone.saving


def test_what_is_no_step_saves_nothing_of_one() -> None:
    known = Evidence(account=run(0.35))
    found = ranking(rule("a"), rule("b"), evidence=known)
    alone = ranking(rule("a"), rule("b"))
    (one,) = (one for one in found.findings if one.rule_id == OUTSIDE)

    assert one.title == "35% of the run is evaluation (train.py:8)"
    assert one.summary == (
        "35 s of the 100 s since the first step, 2 times, 17.5 s each, by samples of "
        "the main thread. It is in no ordinary step: no share of the step counts it."
    )
    assert (one.takes, one.saving, one.severity) == (0.35, None, Severity.HIGH)
    assert (one.proof, one.locations) == ("shown", (Location("train.py", 8, "main"),))
    assert found.plan == alone.plan


# The order.


def test_of_what_takes_nothing_the_more_severe_comes_first() -> None:
    low = rule("a", saving=None, severity=Severity.LOW)
    high = rule("b", saving=None, severity=Severity.HIGH)

    assert ids(ranking(low, high)) == ["b", "a"]


def test_shown_preview_and_questions_come_in_this_order_whatever_they_take() -> None:
    """Host time of 60%: 3 are shown, 24 on trial, and 40 are asked about. 57 are left for
    that.
    """
    found = ranking(
        rule("a", proof="likely", ask="Needed?"),
        rule("b", 0.6, tier="preview"),
        rule("c", 0.075),
        taking_turns_fraction=0.3,
    )

    assert ids(found) == ["c", "b", "a"]


def computing(name: str) -> Rule:
    """Takes 12% of the step, which the devices compute in every step."""
    saving = SavingRule("crowded_launch_fraction", 1.0, 1.0, "", ("compute",))
    return rule(name, category="compute", saving=saving)


def waiting(name: str) -> Rule:
    """Of 40% Python, unless another share is given, that may be input: what a single step
    cannot vouch for.
    """
    return rule(name, category="input")


def loss(bottleneck: str) -> Cause:
    return Cause(Kind.LOSS, bottleneck, 0.4)


@pytest.mark.parametrize(
    ("steps", "order"),
    [(3.0, ["waits", "computes"]), (2.0, ["computes", "waits"])],
)
def test_what_is_sure_comes_first(steps: float, order: list[str]) -> None:
    found = ranking(computing("computes"), waiting("waits"), steps_counted=steps)

    assert ids(found) == order


@pytest.mark.parametrize(
    ("share", "about", "order"),
    [
        (0.4, "host", ["waits", "computes"]),
        (0.08, "host", ["computes", "waits"]),
        (0.4, "collective", ["computes", "waits"]),
    ],
)
def test_of_few_steps_what_explains_the_lost_time_comes_first_if_it_is_the_larger(
    share: float, about: str, order: list[str]
) -> None:
    """40% or 8% of the step are lost to Python, which two steps leave unsure; computing
    for 12% is sure.
    """
    found = ranking(
        computing("computes"),
        waiting("waits"),
        cause=loss(about),
        taking_turns_fraction=share,
        steps_counted=2.0,
    )

    assert ids(found) == order


def on_a_gpu(
    own: tuple[float, float], other: tuple[float, float], bottleneck: str, **mine: Any
) -> list[str]:
    """Two rules whose own ranges are printed: one about the bottleneck, one about
    launches. Classes of time are not known, so neither takes from the other.
    """
    first = rule(
        "first", saving=SavingRule("device_busy_fraction", *other, "", ("launch",))
    )
    about = rule(
        "mine", saving=SavingRule("device_busy_fraction", *own, "", (bottleneck,))
    )
    values = {**STEP, "device_busy_fraction": 1.0}
    del values["compute_fraction"]
    measured = metrics({**FACTS, "device_kind": "gpu"}, values)
    fired = run_rules([first, replace(about, **mine)], measured)
    cause = Cause(Kind.COMPUTE, bottleneck, 0.5)
    return ids(ranked(fired, measured, KNOWN, Evidence(), cause))


@pytest.mark.parametrize(
    ("own", "other", "leads"),
    [
        ((0.040, 0.089), (0.044, 0.103), True),
        ((0.096, 0.215), (0.115, 0.365), False),  # 24% is expected of the other
        ((0.02, 0.40), (0.30, 0.45), False),  # 21% of this
        ((0.2, 0.3), (0.2, 0.3), True),
    ],
)
@pytest.mark.parametrize("bottleneck", ["compute", "collective"])
def test_what_may_save_as_much_comes_first_where_the_verdict_is_about_it(
    bottleneck: str, own: tuple[float, float], other: tuple[float, float], leads: bool
) -> None:
    found = on_a_gpu(own, other, bottleneck)

    assert found == (["mine", "first"] if leads else ["first", "mine"])


@pytest.mark.parametrize(
    "mine",
    [
        {"saving": None, "severity": Severity.LOW},
        {"tier": "preview"},
        {"proof": "documented"},
        {"proof": "likely", "ask": "Needed?"},
        {
            "saving": SavingRule("device_busy_fraction", 0.04, 0.089, "", ("host",)),
        },
    ],
    ids=["no saving", "on trial", "a guide's", "a question", "another class"],
)
def test_nothing_else_is_moved(mine: dict[str, Any]) -> None:
    found = on_a_gpu((0.040, 0.089), (0.044, 0.103), "compute", **mine)

    assert found == ["first", "mine"]


def test_without_a_cause_the_order_is_by_size() -> None:
    found = ranking(computing("computes"), waiting("waits"))

    assert ids(found) == ["waits", "computes"]


# The plan.


def test_the_plan_is_of_what_is_printed_to_save() -> None:
    """a saves 20% of the step and b as much of what is left of the host: 40 together.
    What nothing bears out is in no plan.
    """
    found = ranking(rule("a"), rule("b"), rule("c", category="memory"))

    assert found.plan is not None
    assert [one.rule_id for one in found.plan.changes] == ["a", "b"]
    assert (found.plan.low, found.plan.high) == pytest.approx((0.4, 0.4))


def test_a_finding_that_cannot_be_written_is_broken_and_costs_no_other() -> None:
    found = ranking(rule("a", evidence=("nonsense",)), rule("b"))

    assert ids(found) == ["b"]
    assert [one.name for one in found.broken] == ["a"]


# Questions that are the last resort.


def asks(name: str, **changes: Any) -> Rule:
    """About the 40% of the step that the program computes."""
    return rule(
        name,
        saving=None,
        takes="compute_fraction",
        severity=Severity.LOW,
        proof="likely",
        ask="Who needs it?",
        locations=(),
        last_resort=True,
        **changes,
    )


def test_a_last_resort_is_asked_where_nothing_else_is_named() -> None:
    found = ranking(asks("asks"))

    assert (ids(found), [each.rule_id for each in found.last_resorts]) == ([], ["asks"])


def says(kind: str) -> Rule:
    """With a change or a command."""
    plain = {"do": "Do less.", "before": "two()", "snippet": "one()"}
    fix = replace(HOST.fixes[0], kind=kind, needs=None, never=None, **plain)
    return rule(
        "says",
        saving=None,
        takes="taking_turns_fraction",
        severity=Severity.MEDIUM,
        locations=(),
        fixes=(fix,),
    )


@pytest.mark.parametrize(
    ("kind", "other", "expected"),
    [
        ("code", 0.21, []),
        ("code", 0.2, ["asks"]),
        ("command", 0.6, ["asks"]),
    ],
    ids=["a change of more than half", "of half", "a command alone"],
)
def test_a_last_resort_gives_way_to_what_has_a_change_of_more_than_half_its_size(
    kind: str, other: float, expected: list[str]
) -> None:
    """40% computes."""
    found = ranking(asks("asks"), says(kind), taking_turns_fraction=other)

    assert ids(found) == ["says"]
    assert [each.rule_id for each in found.last_resorts] == expected
