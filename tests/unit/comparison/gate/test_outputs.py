"""The verdict's forms: each valid by its published schema, whatever stands in traces
and files.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema
from support.made_runs import op, side

from tfadvisor.comparison.gate.forms.ci import as_junit, workflow_commands
from tfadvisor.comparison.gate.forms.pages import (
    LARGEST,
    as_comment,
    as_html,
    as_markdown,
)
from tfadvisor.comparison.gate.forms.text import as_text, headline
from tfadvisor.comparison.gate.result import Check, Gated, GateResult, Outcome
from tfadvisor.comparison.split import compare_sides
from tfadvisor.report.forms.html import as_json
from tfadvisor.text_page import screen_of

SCHEMAS = Path(__file__).parent / "schemas"
HOSTILE = (
    "a\x00b\x1b[31m<x>&\"'`|::error::%0A\r\n\u202e\ufffe\ud800 ]]> ../../etc/passwd "
    + "é" * 20
)
BEFORE = side(
    100.0, ops=[op("dot.1", 60.0), op("add", 20.0)], metrics={"kernels_per_step": 2.0}
)
AFTER = side(
    140.0,
    ops=[op("dot.7", 62.0), op("add", 20.0), op("new_one", 20.0)],
    classes={"host": 20.0},
    metrics={"kernels_per_step": 3.0},
)
"""Ops of 102 ms take 120 of the step, so the new one of 20 ms takes 23.5 of it."""


def check(
    outcome: Outcome,
    name: str = "step_time_ms",
    kind: str = "relative",
    **known: object,
) -> Check:
    settings = {
        "level": "error",
        "message": f"{name}: {outcome.value}.",
        "unit": "ms",
        "line": 4,
        **known,
    }
    return Check(kind=kind, name=name, outcome=outcome, **settings)


def judged(
    *checks: Check,
    outcome: Outcome = Outcome.FAIL,
    code: int = 1,
    model: str = "default",
    explained: bool = True,
) -> GateResult:
    return GateResult(
        outcome=outcome,
        exit_code=code,
        gated=Gated(model, "run", "logdir", "jax", "1 gpu NVIDIA H100", 1, 1),
        config="tfadvisor.toml",
        false_alarm_rate=0.01,
        runs=10,
        checks=checks,
        notices=("a notice",),
        differences=("framework version: 1 in the baseline, 2 now",),
        comparison=compare_sides(BEFORE, AFTER) if explained else None,
    )


STEP = check(
    Outcome.FAIL,
    message="step_time_ms rose by 40% (100 ms → 140 ms); the limit is 5.0%.",
    value=140.0,
    base=100.0,
    limit=105.0,
    detectable=3.0,
    p=1e-9,
    runs=10,
)
FULL = judged(
    STEP,
    check(
        Outcome.PASS,
        "kernels_per_step",
        unit="count",
        value=25.0,
        base=25.0,
        detectable=0.1,
        limit=25.5,
        p=0.5,
    ),
    check(
        Outcome.WARN,
        "input-loader-in-step",
        "rule",
        level="warn",
        file="train.py",
        file_line=12,
        unit="",
    ),
    check(
        Outcome.IGNORED,
        "retraces_in_steady_state",
        "budget",
        unit="count",
        value=3.0,
        limit=0.0,
    ),
    check(Outcome.NOT_APPLICABLE, "allreduce_efficiency", "budget"),
    check(Outcome.CANNOT_TELL, "input_bound_fraction", unit="fraction"),
    check(Outcome.BROKEN, "host_fraction", "budget"),
)
NASTY = judged(
    check(Outcome.FAIL, message=HOSTILE, value=1.0, base=0.0, limit=0.0),
    check(Outcome.WARN, HOSTILE, "rule", message=HOSTILE, file=HOSTILE, file_line=3),
    check(Outcome.IGNORED, message=HOSTILE),
    check(Outcome.CANNOT_TELL, "kernels_per_step", message=HOSTILE),
    model=HOSTILE,
)
EMPTY = judged(outcome=Outcome.PASS, code=0, explained=False)
ALL = pytest.mark.parametrize(
    "verdict", [FULL, NASTY, EMPTY], ids=["full", "nasty", "empty"]
)


@ALL
def test_junit_follows_its_schema(verdict: GateResult) -> None:
    xmlschema.XMLSchema(SCHEMAS / "junit.xsd").validate(
        ElementTree.ElementTree(ElementTree.fromstring(as_junit(verdict)))
    )


def test_junit_counts_what_it_holds() -> None:
    suite = ElementTree.fromstring(as_junit(FULL)).find("testsuite")
    assert suite is not None

    assert {
        name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")
    } == {
        "tests": "7",
        "failures": "1",
        "errors": "1",
        "skipped": "3",
    }
    failure = suite.find("testcase[@name='step_time_ms']/failure")
    assert failure is not None
    assert failure.text is not None
    assert "total, median step time" in failure.text


def test_junit_calls_it_an_error_when_not_being_able_to_tell_stops_the_pipeline() -> (
    None
):
    verdict = judged(check(Outcome.CANNOT_TELL), outcome=Outcome.CANNOT_TELL, code=4)

    assert (
        ElementTree.fromstring(as_junit(verdict)).find("testsuite/testcase/error")
        is not None
    )


def test_annotations_are_one_line_each_and_escaped() -> None:
    """https://docs.github.com/actions, workflow commands: %, CR, LF in data; also : and
    , in properties.
    """
    verdict = judged(
        check(Outcome.FAIL, "a:b,c", message="100% of\nit, really: yes", line=0),
        explained=False,
    )

    assert workflow_commands(verdict) == [
        # a preset asks for it: no line does
        "::error title=tfadvisor%3A a%3Ab%2Cc::100%25 of it, really: yes"
    ]


def test_annotations_block_or_warn() -> None:
    told = workflow_commands(FULL)

    assert [line.split(" ")[0] for line in told] == [
        "::error",
        "::error",
        "::warning",
        "::warning",
    ]
    assert told[3].startswith(
        "::warning file=train.py,line=12,title=tfadvisor%3A input-loader-in-step::"
    )
    assert workflow_commands(EMPTY) == []


def test_at_most_ten_annotations_of_a_kind() -> None:
    many = judged(*[check(Outcome.FAIL, f"m{number}") for number in range(40)])

    assert len(workflow_commands(many)) == 10


@ALL
def test_no_output_sends_control_characters(verdict: GateResult) -> None:
    texts = [
        as_text(verdict),
        as_markdown(verdict),
        as_junit(verdict),
        "\n".join(workflow_commands(verdict)),
    ]
    texts.append(as_json(verdict))

    for text in texts:
        assert not [
            character
            for character in text
            if ord(character) < 32 and character not in "\n\t"
        ]
        assert not {"\x7f", "\u202e"} & set(text)
        text.encode("utf-8")


def test_the_summary_stays_below_60_kib() -> None:
    """Thousands of findings with long sentences: cut, with a word about it, and still
    Markdown from the top.
    """
    many = judged(
        STEP,
        *[
            check(Outcome.WARN, f"rule-{number}", "rule", message="é" * 500)
            for number in range(2000)
        ],
    )

    text = as_markdown(many)

    assert LARGEST - 2000 < len(text.encode()) <= LARGEST
    assert text.startswith("## ❌ FAIL")
    assert text.rstrip().endswith("holds everything._")


def test_a_summary_that_fits_is_whole() -> None:
    text = as_markdown(FULL)

    assert "| `step_time_ms` | 100 ms | 140 ms | 105 ms | 1e-09 | fail |" in text
    assert "Detects: step\\_time\\_ms \\+3.0%" in text
    assert "baseline accept" in text
    assert "cut:" not in text


def test_the_text_says_first_what_failed_and_why_then_what_could_have_been_seen() -> (
    None
):
    """The step is 40 ms longer: compute by 20 ms, host by 20 ms; the first of equals is
    named.
    """
    lines = as_text(FULL).splitlines()

    assert (
        lines[0]
        == " FAILED  step_time_ms rose by 40% (100 ms → 140 ms), mostly compute +20 ms"
    )
    assert lines[2].startswith(
        "  default · JAX · 1 gpu NVIDIA H100 · run · 1 run against 10"
    )
    assert lines[3].startswith(
        "  detects          step_time_ms +3.0%, kernels_per_step +0.4%"
    )
    assert any(
        line.startswith("  fail             step_time_ms rose by 40%") for line in lines
    )
    assert any("new_one: new, 23.5 ms per step, 1 time" in line for line in lines)
    assert any("1: kernels_per_step" in line for line in lines)
    change = "The step takes 40 ms (40%) more: compute +20 ms, host +20 ms."
    assert f"Against run: {change}" in lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


def test_colours_only_on_a_terminal_without_no_color(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    assert "\x1b[" in as_text(FULL, screen=screen_of(out))

    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    assert "\x1b[" not in as_text(FULL, screen=screen_of(out))
    assert "\x1b[" not in as_text(FULL)


def test_json_has_everything() -> None:
    plain = json.loads(as_json(FULL))

    assert plain["checks"][0]["p"] == 1e-9
    assert plain["comparison"]["change_ms"] == pytest.approx(40.0)
    assert plain["comparison"]["causes"][0]["class"] in ("compute", "host")


def moved(outcome: Outcome, name: str = "step_time_ms") -> Check:
    return check(
        outcome,
        name,
        message=f"{name} rose by 40% (100 ms → 140 ms); the limit is 5.0%. More words.",
    )


FOUND = check(
    Outcome.WARN,
    "input-loader-in-step",
    "rule",
    message="Loads its own batch. Much more.",
)


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        (
            judged(moved(Outcome.FAIL)),
            "step_time_ms rose by 40% (100 ms → 140 ms), mostly compute +20 ms",
        ),
        (
            judged(moved(Outcome.FAIL), explained=False),
            "step_time_ms rose by 40% (100 ms → 140 ms)",
        ),
        (
            judged(moved(Outcome.FAIL, "kernels_per_step"), moved(Outcome.FAIL)),
            "step_time_ms rose by 40% (100 ms → 140 ms), mostly compute +20 ms, and "
            "1 more",
        ),
        (
            judged(moved(Outcome.FAIL, "kernels_per_step")),
            "kernels_per_step rose by 40% (100 ms → 140 ms), with the new op new_one",
        ),
        (
            judged(FOUND, moved(Outcome.PASS), outcome=Outcome.WARN, code=0),
            "Loads its own batch",
        ),
        (
            judged(
                moved(Outcome.CANNOT_TELL),
                outcome=Outcome.PASS,
                code=0,
                explained=False,
            ),
            "cannot tell: step_time_ms rose by 40% (100 ms → 140 ms)",
        ),
        (
            judged(moved(Outcome.PASS), outcome=Outcome.PASS, code=0),
            "nothing changed in 1 check",
        ),
        (judged(outcome=Outcome.PASS, code=0), "nothing to judge"),
    ],
)
def test_the_first_line_is_the_verdict_and_its_cause(
    verdict: GateResult, line: str
) -> None:
    assert headline(verdict) == line
    assert as_text(verdict).splitlines()[0].endswith(f"  {line}")


def test_a_comment_begins_with_the_mark_of_its_model() -> None:
    nasty = judged(check(Outcome.FAIL), model="a --> b\n<script> é")

    first, second = as_comment(nasty).splitlines()[:2]
    assert first == "<!-- tfadvisor gate a.....b..script..é -->"
    assert second.startswith("## ❌ FAIL")


@ALL
def test_the_page_runs_its_theme_button_alone_and_loads_nothing(
    verdict: GateResult,
) -> None:
    page = as_html(verdict)

    assert (
        page.count("<script") == 1
    )  # the frame's own, which the policy allows by its hash
    assert "script-src 'sha256-" in page
    assert "<x>" not in page
    assert "\x1b" not in page
    assert "default-src 'none'" in page


def test_the_page_shows_what_failed_first_and_the_causes() -> None:
    page = as_html(FULL)

    assert page.index(">fail</td>") < page.index(">pass</td>")
    assert "new_one: new, 23.5 ms per step, 1 time" in page
    assert "total, median step time" in page
