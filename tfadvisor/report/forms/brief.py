"""The report in three kilobytes, for an agent or a chat: verdict, three findings,
evidence, place, edit, how to verify.
"""

from __future__ import annotations

from tfadvisor.advice.findings import Finding, Fix
from tfadvisor.printable import cut, one_line, printable
from tfadvisor.report.light import LIGHT, light_line
from tfadvisor.report.model import Report
from tfadvisor.report.of_the_run import run_words, statement_rows
from tfadvisor.report.wording import (
    advice,
    few_lines,
    fitted,
    location_words,
    plan_lines,
    questions,
    run_line,
    shares,
    steps_line,
    takes_words,
    time_lines,
    tried_words,
    verdict_name,
    weight_words,
    worth_words,
)
from tfadvisor.units import percent
from tfadvisor.vocabulary import Severity

LARGEST = 3072
"""Bytes of UTF-8."""
_FINDINGS = 3
_SHORTER = ((3, 3), (3, 2), (3, 1), (2, 2), (2, 1), (1, 1), (1, 0), (0, 0))
"""So many findings, so many of them with long snippets, until the text is small."""
_PLANNED = 3
_FEW_LINES = 3
_LONGEST = 220
_ACTIVITIES = 3
_LONGEST_ACTIVITY = 100
_VERIFY = (
    "verify: record the same steps again after the edit, then `tfadvisor compare "
    "BEFORE AFTER`"
)


def as_brief(report: Report) -> str:
    """Plain text of at most 3,072 bytes; what does not fit is cut from the last finding
    on, and the text says so.
    """
    for kept, whole in _SHORTER:
        lines = [*_head(report), *_rest(report, kept, whole)]
        text = "\n".join(lines) + "\n"
        data = text.encode("utf-8", "replace")
        if len(data) <= LARGEST:
            return text
    return data[:LARGEST].decode("utf-8", "ignore")


def _head(report: Report) -> list[str]:
    classes = [f"{name} {percent(share)}" for name, share in shares(report)]
    lines = [
        f"{verdict_name(report)}: {_cut(report.verdict.summary)}",
        f"run: {_cut(run_line(report))}",
        *_run(report),
        f"steps: {_cut(steps_line(report))}",
        f"step time: {', '.join(classes)}",
    ]
    for time_line in time_lines(report, _ACTIVITIES):
        words = fitted(time_line.words, _LONGEST_ACTIVITY)
        lines.append(f"  {time_line.share} {time_line.kind}: {words}")
        for source in time_line.source:
            lines.append(f"    {source.number}: {cut(source.text, _LONGEST_ACTIVITY)}")
    for few in few_lines(report, 1):
        words = fitted(few.words, _LONGEST_ACTIVITY)
        lines.append(f"  in {few.steps}, {few.time} in each: {few.kind}: {words}")
    light = light_line(report)
    if light:
        lines.append(f"{LIGHT.lower()}: {_cut(light)}")
    if report.capture:
        lines.append(f"about this trace: {_cut(report.capture[0].note)}")
    return lines


def _run(report: Report) -> list[str]:
    words = run_words(report)
    lines = [f"where the run goes: {_cut(words)}"] if words else []
    for row in statement_rows(report):
        text = cut(row.text, _LONGEST_ACTIVITY)
        lines.append(
            "  " + " ".join(filter(None, (row.share, row.where, row.does, text)))
        )
    return lines


def _rest(
    report: Report,
    kept: int,
    whole: int,
) -> list[str]:
    """What to do. kept: findings at most. whole: of them with long snippets."""
    found = advice(report)
    asked = questions(report)
    shown = found[:kept]
    left = len(found) - len(shown) + len(asked)

    lines = []
    for number, finding in enumerate(shown, start=1):
        lines += _finding(number, finding, whole=number <= whole)
    if asked and kept >= min(len(found), _FINDINGS):
        lines.append(_question(asked[0]))
        left -= 1
    if kept:
        lines += _plan(report)
    if left:
        what = "more" if kept else "findings"
        lines.append(f"{left} {what}: --format json")
    if kept and any(other.severity is not Severity.INFO for other in found):
        lines.append(_VERIFY)
    return lines


def _question(finding: Finding) -> str:
    takes = takes_words(finding)
    share = f", {takes}" if takes else ""
    title = f"{_cut(finding.title)}{share} ({finding.rule_id})"
    return f"worth checking: {title}: {_cut(finding.ask or '')}"


def _finding(
    number: int,
    finding: Finding,
    *,
    whole: bool,
) -> list[str]:
    """whole: with its snippet, however long; a snippet is never cut."""
    title = f"{_cut(finding.title)} ({finding.rule_id})"
    lines = [f"{number}. [{weight_words(finding).lower()}] {title}"]

    worth = worth_words(finding)
    if worth:
        lines.append(f"   {worth}")
    tried = tried_words(finding)
    if tried:
        lines.append(f"   tried: {tried}")
    lines.append(f"   seen: {cut(one_line(finding.summary), 2 * _LONGEST)}")
    for location in finding.locations[:1]:
        lines.append(f"   where: {_cut(location_words(location))}")
    for fix in finding.fixes[:1]:
        lines += _edit(fix, finding.rule_id, whole=whole)
    return lines


def _edit(
    fix: Fix,
    rule_id: str,
    *,
    whole: bool,
) -> list[str]:
    lines = [f"   edit: {_cut(fix.do)}"]
    snippet = printable(fix.snippet).splitlines()
    if whole or len(snippet) <= _FEW_LINES:
        lines += [f"     {line}" for line in snippet]
    else:
        lines.append(f"     {len(snippet)} lines: `tfadvisor explain {rule_id}`")
    return lines


def _plan(report: Report) -> list[str]:
    """`plan: RULE 20–40%, then RULE 3–5% of step time`; nothing where one change is all
    there is.
    """
    steps = [
        f"{plan_line.rule_id} {plan_line.saves}" for plan_line in plan_lines(report)
    ][:_PLANNED]
    return [f"plan: {', then '.join(steps)}"] if len(steps) > 1 else []


def _cut(text: str) -> str:
    return cut(one_line(text), _LONGEST)
