"""No report of a recorded run contradicts itself: its verdict, bar, header, findings and
plan say the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import takewhile

import msgspec
import pytest
from msgspec.structs import replace
from support.golden_reports import Recording, recordings, report_of

import tfadvisor
from tfadvisor.advice.findings import UNSURE, Finding, Plan, PlanStep, Saving
from tfadvisor.advice.judging.cause import LOSSES, WORTH_NAMING
from tfadvisor.advice.judging.verdict import LARGE as NO_SMALL_COST
from tfadvisor.advice.savings import LARGE, MEASURED
from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.model import Report
from tfadvisor.report.wording import advice, nothing_to_change, shares, steps_line
from tfadvisor.units import duration, percent
from tfadvisor.vocabulary import VERDICTS, Severity

_BY_PAIRS = MEASURED.partition("{pairs}")[2]
"""In the basis of a saving that measured programs bear out."""
_ONE_CHANGE = re.compile(r"One change could save up to (\S+%)\.")
_IDLE = re.compile(r"idle for (\S+%)")
_TINY = 1e-9


# The verdict's words.


def other_costs(report: Report) -> Iterator[str]:
    """No class of 15% stands beside "no other cost is large"."""
    verdict = report.verdict
    if "no other cost is large" not in verdict.summary:
        return
    for name, share in report.breakdown.items():
        if name != verdict.bottleneck and share >= WORTH_NAMING:
            yield f"no other cost is large, and {name} takes {percent(share)}"


def limits(report: Report) -> Iterator[str]:
    """What is called no limit saves nothing and is nothing that is worth a change."""
    said = report.verdict.summary.partition(" is not the limit")
    if not said[1]:
        return
    about = [name for name in LOSSES if said[0].endswith(VERDICTS[name].lost)]
    if not about:
        yield f"what is not the limit? {said[0]}"
    for name in about:
        for one in _claiming(report, name):
            if one.saves or one.severity.rank >= Severity.MEDIUM.rank:
                yield f"{name} is not the limit, and {one.rule_id} is about it"


def one_change(report: Report) -> Iterator[str]:
    """It is the largest saving that is printed of the program, and there is one."""
    said = _ONE_CHANGE.search(report.verdict.summary)
    if said is None:
        return
    printed = [one.saves for one in advice(report) if one.bears_verdict]
    largest = percent(max(printed, default=0.0))
    if said[1] != largest:
        yield f"one change saves {said[1]}, and the largest finding {largest}"
    if nothing_to_change(report) in as_text(report):
        yield "one change saves something, and there is nothing to change"


def health(report: Report) -> Iterator[str]:
    """Nothing healthy is worth a change."""
    if not report.verdict.healthy:
        return
    if report.verdict.bottleneck != "compute":
        yield f"healthy, and bound by {report.verdict.bottleneck}"
    for one in advice(report):
        if one.severity.rank >= Severity.MEDIUM.rank:
            yield f"healthy, and {one.rule_id} is {one.severity.value}"
        if one.saves >= NO_SMALL_COST:
            yield f"healthy, and {one.rule_id} saves {percent(one.saves)}"


def named_losses(report: Report) -> Iterator[str]:
    """What the verdict says that the step is bound by has a finding, or a sentence
    that says why there is none.
    """
    name = report.verdict.bottleneck
    if name in ("compute", "none", "unknown") or "cannot show" in (
        report.verdict.summary
    ):
        return
    if not _claiming(report, name):
        yield f"bound by {name}, of which nothing is said"


def _claiming(report: Report, name: str) -> list[Finding]:
    """The findings about a class of time, or about what is no class of its own."""
    if name in report.breakdown:
        return [one for one in report.findings if name in one.claims]
    return [one for one in report.findings if one.category == name]


# Verdict, bar and header.


def fractions(report: Report) -> Iterator[str]:
    """The verdict's share is the bar's, and stands in its sentence."""
    verdict = report.verdict
    share = report.breakdown.get(verdict.bottleneck)
    if share is not None and abs(share - verdict.fraction) > 1e-6:
        yield f"verdict {verdict.fraction:.4f}, breakdown {share:.4f}"
    if verdict.bottleneck != "unknown" and percent(verdict.fraction) not in (
        verdict.summary
    ):
        yield f"{percent(verdict.fraction)} is not in the verdict's sentence"


def idle_time(report: Report) -> Iterator[str]:
    """It is the bar's, or the sentence says that it counts as host there."""
    said = _IDLE.search(report.verdict.summary)
    if said is None:
        return
    idle = report.breakdown["idle"]
    if "as host below" in report.verdict.summary:
        if percent(idle + report.breakdown["host"]) != said[1]:
            yield f"idle for {said[1]}, and idle and host are less"
    elif percent(idle) != said[1]:
        yield f"idle for {said[1]}, and the bar says {percent(idle)}"


def the_bar(report: Report) -> Iterator[str]:
    """Each class stands in it as in the breakdown, and "Where the step goes" adds up."""
    text = as_text(report)
    for name, share in shares(report):
        if f"{name} {percent(share)}" not in text:
            yield f"the bar does not say {name} {percent(share)}"
    if not report.attribution:
        return
    goes = {one.kind: one.fraction for one in report.attribution}
    for name, share in report.breakdown.items():
        if abs(goes.get(name, 0.0) - share) > 1e-6:
            yield f"{name} {percent(share)}, and it goes {percent(goes.get(name, 0.0))}"


def the_header(report: Report) -> Iterator[str]:
    """Its step is as long as findings say."""
    times = report.steps.time_ms
    known = report.metrics["step_time_ms"].value
    if times is None or known is None:
        return
    if abs(times.median - known) > _TINY * known:
        yield f"a step of {times.median} ms, and by its metric of {known}"
    if duration(known) not in steps_line(report):
        yield f"{duration(known)} is not in {steps_line(report)}"


OF_CLASS = {
    "compute": "compute_fraction",
    "input": "input_bound_fraction",
    "host": "host_fraction",
    "launch": "kernel_launch_gap_fraction",
    "compile": "compile_fraction",
    "transfer": "transfer_fraction",
    "collective": "exposed_collective_fraction",
    "idle": "idle_fraction",
}
"""The metric of each class of the bar."""


def class_metrics(report: Report) -> Iterator[str]:
    """What a budget limits is what the bar shows."""
    for name, metric in OF_CLASS.items():
        value, share = report.metrics[metric].value, report.breakdown.get(name)
        if value is not None and share is not None and abs(value - share) > 1e-6:
            yield f"{metric} {percent(value)}, and in the bar {percent(share)}"


def first_screen(report: Report) -> Iterator[str]:
    """The head is what fits a line, two where devices have long names, and does not say
    how sure steps are; at most two lines are about the trace.
    """
    lines = as_text(report).splitlines()
    head = list(takewhile(lambda line: line[:2].strip(), lines))
    if len(head) > 2 or "confidence" in " ".join(head):
        yield f"the head takes more than two lines: {head}"
    about = [row for row, line in enumerate(lines) if line.startswith("About this")]
    if about and "" not in lines[about[0] + 1 : about[0] + 3]:
        yield "more than two lines are about the trace"


# Findings.


def takes_and_saves(report: Report) -> Iterator[str]:
    """None saves more than it takes, unless measured pairs say so."""
    for one in report.findings:
        if one.saving is None or one.takes is None or _BY_PAIRS in one.saving.basis:
            continue
        if one.saves > one.takes + _TINY:
            yield f"{one.rule_id} saves {one.saves:.3f} and takes {one.takes:.3f}"


def severities(report: Report) -> Iterator[str]:
    """What is low saves less than a fifth, and nothing has a range without proof."""
    for one in report.findings:
        if one.severity.rank <= Severity.LOW.rank and one.saves >= LARGE:
            yield f"{one.rule_id} is {one.severity.value} and saves {one.saves:.0%}"
        if one.is_documented and one.severity.rank > Severity.MEDIUM.rank:
            yield f"{one.rule_id}, a guide's, is {one.severity.value}"
        if one.is_question and one.severity.rank > Severity.LOW.rank:
            yield f"{one.rule_id}, a question, is {one.severity.value}"
        if one.saves and (one.is_documented or one.is_question):
            yield f"{one.rule_id} is {one.proof} and saves {one.saves:.0%}"


def certainties(report: Report) -> Iterator[str]:
    """What is unsure says why, and prints no range."""
    for one in report.findings:
        if one.certainty == UNSURE and one.saves:
            yield f"{one.rule_id} is unsure and saves {one.saves:.0%}"
        if one.certainty == UNSURE and not one.caveat:
            yield f"{one.rule_id} is unsure and does not say why"


def the_plan(report: Report) -> Iterator[str]:
    """It is of the findings that save, in their order, and saves no more than all."""
    saving = [one for one in report.findings if one.saves and one.bears_verdict]
    if sum(one.saves for one in saving) > 1 + _TINY:
        yield "findings save more than the step together"
    if isinstance(report.plan, msgspec.UnsetType):
        if len(saving) > 1:
            yield "several findings save something, and there is no plan"
        return
    planned = [one.rule_id for one in report.plan.changes]
    if planned != [one.rule_id for one in saving]:
        yield f"the plan is of {planned}"
    if not 0 <= report.plan.low <= report.plan.high <= 1:
        yield f"the plan saves {report.plan.low} to {report.plan.high}"


CHECKS: tuple[Callable[[Report], Iterator[str]], ...] = (
    other_costs,
    limits,
    one_change,
    health,
    named_losses,
    fractions,
    idle_time,
    the_bar,
    the_header,
    class_metrics,
    first_screen,
    takes_and_saves,
    severities,
    certainties,
    the_plan,
)


def contradictions(report: Report) -> list[str]:
    """All of them."""
    return [said for check in CHECKS for said in check(report)]


@pytest.mark.parametrize("recording", recordings(), ids=lambda one: one.name)
def test_no_report_of_a_recorded_run_contradicts_itself(recording: Recording) -> None:
    report = report_of(recording.path)
    if isinstance(report, tfadvisor.TraceError):
        return  # said in one sentence, which its golden report holds

    assert contradictions(report) == []


# What the checks find in a report that is made to contradict itself.


@pytest.fixture(scope="module")
def sound() -> Report:
    """An H200 waits for Python between the steps for 92% of their time."""
    (name,) = (one for one in recordings() if one.name == "fixtures/gpu/jax-logging")
    report = report_of(name.path)
    assert isinstance(report, Report)
    assert contradictions(report) == []
    return report


def told(report: Report, summary: str, **verdict: object) -> Report:
    return replace(report, verdict=replace(report.verdict, summary=summary, **verdict))


def first(report: Report, **changes: object) -> Report:
    found = (replace(report.findings[0], **changes), *report.findings[1:])
    return replace(report, findings=found)


BROKEN: dict[str, Callable[[Report], Report]] = {
    "no other cost is large, and": lambda one: told(
        one,
        "The devices compute for 92%; no other cost is large.",
        bottleneck="compute",
    ),
    "is not the limit, and": lambda one: told(
        one, f"So the 92% of {VERDICTS['host'].lost} is not the limit."
    ),
    "one change saves 7.0%": lambda one: told(
        one, "92% is lost. One change could save up to 7.0%."
    ),
    "there is nothing to change": lambda one: replace(one, findings=()),
    "healthy, and bound by host": lambda one: told(one, "92%.", healthy=True),
    "healthy, and host-work-in-loop is": lambda one: told(one, "92%.", healthy=True),
    "healthy, and host-work-in-loop saves": lambda one: told(one, "92%.", healthy=True),
    "bound by host, of which nothing is said": lambda one: told(
        first(one, claims=("input",)), "92%."
    ),
    "verdict 0.5000": lambda one: told(one, "50%.", fraction=0.5),
    "is not in the verdict's sentence": lambda one: told(one, "Python runs."),
    "idle for 40%, and the bar": lambda one: told(one, "92%; idle for 40%."),
    "and idle and host are less": lambda one: told(
        one, "92%; idle for 99%, which counts as host below."
    ),
    "and it goes 0%": lambda one: replace(one, attribution=one.attribution[1:]),
    "and by its metric of": lambda one: replace(
        one,
        steps=replace(one.steps, time_ms=replace(one.steps.time_ms, median=1.0)),
    ),
    "host_fraction 10%, and in the bar": lambda one: replace(
        one,
        metrics={
            **one.metrics,
            "host_fraction": replace(one.metrics["host_fraction"], value=0.1),
        },
    ),
    "the head takes more than two lines": lambda one: replace(
        one, run=replace(one.run, name="a run with many words " * 19)
    ),
    "saves 0.990 and takes 0.100": lambda one: first(
        one, saving=Saving(0.5, 0.99, "So it is."), takes=0.1
    ),
    "is low and saves": lambda one: first(one, severity=Severity.LOW),
    "a guide's, is critical": lambda one: first(one, proof="documented"),
    "a question, is critical": lambda one: first(one, proof="likely"),
    "is documented and saves": lambda one: first(one, proof="documented"),
    "is unsure and saves": lambda one: first(one, certainty=UNSURE),
    "is unsure and does not say why": lambda one: first(one, certainty=UNSURE),
    "findings save more than the step": lambda one: replace(
        one, findings=(*one.findings, one.findings[0])
    ),
    "and there is no plan": lambda one: replace(
        one, findings=(*one.findings, one.findings[0])
    ),
    "the plan is of ['other']": lambda one: replace(
        one, plan=Plan((PlanStep("other", 0.1, 0.2, 0.8, 0.9, worth=True),), 0.1, 0.2)
    ),
    "the plan saves 0.1 to 1.2": lambda one: replace(one, plan=Plan((), 0.1, 1.2)),
}
"""What is found, by what is made of a sound report."""


@pytest.mark.parametrize("said", BROKEN)
def test_a_report_that_contradicts_itself_is_found(sound: Report, said: str) -> None:
    found = contradictions(BROKEN[said](sound))

    assert [one for one in found if said in one] != [], found
