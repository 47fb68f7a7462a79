"""The statements of a loop in words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.golden_reports import report_of
from support.places import FIXTURES

from tfadvisor.causes.account import (
    STEPS,
    WAITING,
    BeforeSteps,
    RunAccount,
    RunPart,
    RunPlace,
)
from tfadvisor.causes.cause import OPS_ONE_BY_ONE, Cause, Done
from tfadvisor.report.model import ActivityTime, Report
from tfadvisor.report.of_the_run import (
    StatementRow,
    other_steps,
    run_words,
    statement_rows,
    statements_note,
)
from tfadvisor.report.wording import cause_words, head_line, verdict_sentence
from tfadvisor.units import duration


def statement(
    line: int, fraction: float, what: str = "main", text: str = ""
) -> RunPart:
    places = (RunPlace("train.py", line, "main", text),)
    return RunPart(what, "other", fraction, fraction * 10, int(fraction * 1000), places)


def reported(*statements: RunPart, trace: str = "jax-healthy") -> Report:
    """Of a run of 10 s, of which 0.9 is steps."""
    steps = RunPart(STEPS, STEPS, 0.9, 9.0, 900, (), None, statements=statements)
    before = BeforeSteps(0.0, ())
    account = RunAccount(10.0, "first step", 0.9, (steps,), 900, 0.0, before)
    return replace(report_of(FIXTURES / trace), run_account=account)


def test_lines_that_take_a_twentieth_of_the_steps_are_shown() -> None:
    """0.05 of 0.9 are 0.045."""
    report = reported(
        statement(12, 0.6, text="loss = step(batch)"),
        statement(14, 0.2, WAITING, "print(float(loss))"),
        statement(13, 0.05),
        statement(15, 0.04),
    )

    assert statement_rows(report) == [
        StatementRow("60%", "train.py:12", "loss = step(batch)", ""),
        StatementRow("20%", "train.py:14", "print(float(loss))", WAITING),
        StatementRow("5.0%", "train.py:13", "", ""),
    ]


def test_one_line_that_takes_all_is_not_repeated() -> None:
    assert statement_rows(reported(statement(12, 0.88), statement(13, 0.02))) == []


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.8, "({} while nothing is recorded)"),
        (0.95, ""),
        (0.4, "(a round of the loop takes {})"),
        (4.9, "(a round of the loop takes {})"),
        (5.0, "(parts of a round of {})"),
    ],
    ids=["longer while recorded", "as long", "several rounds", "slower", "parts"],
)
def test_the_head_says_how_long_a_step_is_while_nothing_is_recorded(
    share: float, words: str
) -> None:
    """share: of the recorded step."""
    report = reported(statement(12, 0.9))
    assert report.steps.time_ms is not None
    assert report.run_account is not None
    step_ms = share * report.steps.time_ms.median
    head = head_line(
        replace(report, run_account=replace(report.run_account, step_ms=step_ms))
    )

    assert ("while nothing is recorded" in head) is words.endswith("is recorded)")
    assert words.format(duration(step_ms)) in head


@pytest.mark.parametrize(("steps", "words"), [(0.9, ""), (0.89, " of a step")])
def test_what_a_change_saves_is_of_a_step_where_the_verdict_is_of_the_run(
    steps: float, words: str
) -> None:
    report = reported(statement(12, 0.9))
    assert report.run_account is not None
    summary = "The steps are all. They launch. One change could save up to 98%."
    verdict = replace(report.verdict, bottleneck="launch", summary=summary)
    account = replace(report.run_account, steps=steps)

    said = verdict_sentence(replace(report, run_account=account, verdict=verdict))

    assert said == f"The steps are all; one change could save up to 98%{words}."


@pytest.mark.parametrize(
    ("source", "is_said"), [("module", True), ("whole-trace", False)]
)
def test_a_whole_trace_is_no_other_step(source: str, is_said: bool) -> None:
    report = reported(statement(12, 0.9))
    assert report.steps.time_ms is not None
    assert report.run_account is not None
    account = replace(report.run_account, step_ms=0.1 * report.steps.time_ms.median)

    notes = list(other_steps(account, replace(report.steps, source=source)))

    assert bool(notes) is is_said


@pytest.mark.parametrize("number", [37.0, 0.2])
def test_ops_one_by_one_are_counted_where_steps_are_known(number: float) -> None:
    """Of a trace without steps no number a step is known."""
    done = Done(OPS_ONE_BY_ONE, "Mul (train.py:8)", 0.93, number, "ops")
    cause = Cause((done,), None, "every", 8, 8, 2.0)
    words = cause_words(ActivityTime("ops", 0.1, 2.0, (), (), cause))

    expected = "37 ops one by one 93%: Mul" if number > 1 else "ops one by one 93%: Mul"
    assert words == expected


@pytest.mark.parametrize(("tracer", "is_said"), [(0.25, True), (0.09, False)])
def test_the_head_estimates_it_where_nobody_timed_that(
    tracer: float, is_said: bool
) -> None:
    report = reported(statement(12, 0.9))
    assert report.steps.time_ms is not None
    known = replace(report.metrics["tracer_fraction"], value=tracer)
    head = head_line(
        replace(report, metrics={**report.metrics, "tracer_fraction": known})
    )

    alone = duration((1 - tracer) * report.steps.time_ms.median)
    assert (f"(about {alone} without the recording)" in head) is is_said


def test_a_plain_trace_knows_no_statements() -> None:
    assert statement_rows(report_of(FIXTURES / "jax-healthy")) == []


@pytest.mark.parametrize(
    ("trace", "waits"), [("jax-healthy", True), ("tf-healthy-loop", False)]
)
def test_where_calls_return_before_the_devices_are_done_a_line_may_only_wait(
    trace: str, waits: bool
) -> None:
    assert ("may wait" in statements_note(reported(trace=trace))) is waits


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("v *= scale(v)", "v *= scale(v) 10% (train.py:30)"),
        ("", "train.py:30 10%"),
        ("x" * 40, f"{'x' * 31}… 10% (train.py:30)"),
    ],
    ids=["known", "unknown", "too long"],
)
def test_a_statement_that_only_its_place_names_is_shown_itself(
    text: str, words: str
) -> None:
    report = reported()
    assert report.run_account is not None
    place = RunPlace("train.py", 30, "main", text)
    part = RunPart("train.py:30", "other", 0.1, 1.0, 100, (place,), 9)
    account = replace(report.run_account, parts=(*report.run_account.parts, part))

    assert run_words(replace(report, run_account=account)) == (
        f"10 s since the first step: steps 90%, {words}"
    )
