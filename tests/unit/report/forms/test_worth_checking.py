"""Questions stand in a section of their own in every form, with what is asked, and
promise nothing.
"""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from support.trace_builder import trace

from tfadvisor.advice.findings import SURE, UNSURE, Saving
from tfadvisor.report.forms.brief import LARGEST, as_brief
from tfadvisor.report.forms.html import as_json
from tfadvisor.report.forms.markdown import as_markdown
from tfadvisor.report.forms.notebook import as_fragment
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.model import Report
from tfadvisor.report.wording import advice, questions, weight_words, worth_words
from tfadvisor.vocabulary import Severity

ASK = "Do all examples need the |whole| table?"


@pytest.fixture(scope="module")
def report() -> Report:
    """Its first finding again, as a question about 12% of the step."""
    builder = trace()
    for index in range(5):
        at = index * 100
        builder.step(at, at + 100).call("load_batch", at, at + 60).call(
            "$train.py:7 load_batch", at, at + 60
        )
        builder.kernel("GPU:0", "k", at + 70, at + 100, launched=(at + 61, at + 62))
    made = builder.report()
    first = advice(made)[0]
    question = replace(
        first,
        rule_id="large-table",
        title="A large table is read",
        severity=Severity.LOW,
        saving=None,
        proof="likely",
        ask=ASK,
        takes=0.12,
    )
    return replace(made, findings=(first, question))


def test_findings_and_questions_are_apart(report: Report) -> None:
    assert [one.rule_id for one in questions(report)] == ["large-table"]
    assert "large-table" not in [one.rule_id for one in advice(report)]


@pytest.mark.parametrize("details", [False, True])
def test_the_terminal_asks_behind_all_findings(report: Report, details: bool) -> None:
    before, _, section = as_text(report, details=details).partition("Worth checking\n")

    assert "A large table is read" not in before
    assert "takes 12% of the step" in section
    assert ASK in section
    assert "train.py:7" in section
    assert "saves" not in section.split("About this trace")[0].split("Steps\n")[0]


def test_a_question_has_the_change_for_a_yes(report: Report) -> None:
    """In short the edit in words, of the first fix alone."""
    (question,) = questions(report)
    text = " ".join(as_text(report).split())

    section = text.partition("Worth checking")[2]
    assert f"if so {question.fixes[0].do}" in section
    assert question.fixes[1].do not in section


def test_markdown_asks_in_a_section_and_escapes(report: Report) -> None:
    before, _, section = as_markdown(report).partition("## Worth checking\n")

    assert "A large table is read" not in before
    assert "### 2. A large table is read" in section
    assert "**low**, takes 12% of the step · `large-table`" in section
    assert "the \\|whole\\| table?**" in section


def test_the_brief_asks_one_question_if_there_is_room(report: Report) -> None:
    text = as_brief(report)

    assert (
        "worth checking: A large table is read, takes 12% of the step "
        f"(large-table): {ASK}" in text
    )
    assert len(text.encode()) <= LARGEST


def test_the_brief_counts_the_questions_that_it_leaves_out(report: Report) -> None:
    asked = report.findings[1]
    three = replace(report, findings=(*report.findings, asked, asked))

    assert "2 more: --format json" in as_brief(three)


def test_a_notebook_asks(report: Report) -> None:
    before, _, section = as_fragment(report).partition("Worth checking")

    assert "A large table is read" not in before
    assert "takes 12% of the step" in section
    assert ASK.split(maxsplit=1)[0] in section


def test_json_has_proof_question_and_share_and_no_saving(report: Report) -> None:
    shown, asked = json.loads(as_json(report))["findings"]

    assert (shown["proof"], "ask" in shown, shown["saving"] is None) == (
        "shown",
        False,
        False,
    )
    assert (asked["proof"], asked["ask"], asked["takes"], asked["saving"]) == (
        "likely",
        ASK,
        0.12,
        None,
    )


def test_a_report_of_nothing_but_questions_has_nothing_to_change(
    report: Report,
) -> None:
    only = replace(report, findings=report.findings[1:])

    assert "No rule names a change for this run." in as_text(only)
    assert "No rule names a change for this run." in as_markdown(only)
    assert only.worst() is None


def test_what_only_a_guide_stands_behind_says_so_and_promises_nothing(
    report: Report,
) -> None:
    """The finding takes 60 of 100 µs."""
    guided = replace(report.findings[0], proof="documented", takes=0.6, saving=None)
    shown = replace(report, findings=(guided,))

    assert "documented, takes 60% of the step" in as_text(shown)
    assert ", documented, takes 60% of the step · `" in as_markdown(shown)
    assert "   documented, takes 60% of the step\n" in as_brief(shown)
    assert json.loads(as_json(shown))["findings"][0]["proof"] == "documented"
    assert worth_words(replace(guided, takes=None)) == "documented"


@pytest.mark.parametrize(
    ("takes", "range_", "words"),
    [
        (0.6, None, "takes 60% of the step"),
        (None, None, ""),
        (None, (0.2, 0.4), "saves 20–40% of step time"),
        (0.4, (0.2, 0.4), "saves 20–40% of step time"),
        (0.396, (0.2, 0.4), "saves 20–40% of step time"),
        (0.3, (0.2, 0.4), "takes 30%, saves 20–40% of step time"),
    ],
)
def test_a_finding_says_what_it_takes_where_that_is_less_than_it_saves_or_all_that_is_known(
    report: Report,
    takes: float | None,
    range_: tuple[float, float] | None,
    words: str,
) -> None:
    saving = Saving(*range_, "") if range_ else None

    assert worth_words(replace(report.findings[0], takes=takes, saving=saving)) == words


@pytest.mark.parametrize(
    ("takes", "range_", "asks"),
    [
        (0.5, (0.3, 0.5), False),
        (0.5, (0.25, 0.5), True),  # twice as much at best
        (0.3, (0.3, 0.5), True),  # more than it takes
    ],
)
def test_a_range_that_is_wide_or_exceeds_what_is_taken_gives_its_reason(
    report: Report, takes: float, range_: tuple[float, float], asks: bool
) -> None:
    saving = Saving(*range_, "n workers divide it by up to n.")
    shown = replace(
        report, findings=(replace(report.findings[0], takes=takes, saving=saving),)
    )

    assert ("range  n workers divide it by up to n." in as_text(shown)) is asks
    assert ("Range: n workers divide it by up to n." in as_markdown(shown)) is asks
    assert "range  n workers" in as_text(shown, details=True)


def test_how_sure_a_finding_is_stands_beside_its_severity(report: Report) -> None:
    doubted = replace(
        report.findings[0], severity=Severity.HIGH, certainty=UNSURE, saving=None
    )
    shown = replace(report, findings=(doubted,))

    assert weight_words(doubted) == "HIGH, unsure"
    assert weight_words(replace(doubted, certainty=SURE)) == "HIGH"
    assert "1. HIGH, unsure  " in as_text(shown)
    assert "**high, unsure**" in as_markdown(shown)
    assert "1. [high, unsure] " in as_brief(shown)
    assert json.loads(as_json(shown))["findings"][0]["certainty"] == "unsure"


def test_a_finding_of_a_rule_on_trial_says_so(report: Report) -> None:
    trial = replace(report, findings=(replace(report.findings[0], tier="preview"),))

    assert "(preview)" in as_text(trial)
    assert "` · preview" in as_markdown(trial)
