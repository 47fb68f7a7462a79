"""The report in two kilobytes, for an agent or a chat: verdict, three findings,
evidence, place, edit, how to verify.
"""

from __future__ import annotations

from tfadvisor.advice.findings import Finding
from tfadvisor.printable import cut, one_line, printable
from tfadvisor.report.model import Report
from tfadvisor.report.wording import (
    advice,
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

LARGEST = 2048
"""Bytes of UTF-8."""
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
    """Plain text of at most 2,048 bytes; what does not fit is cut from the last finding
    on, and the text says so.
    """
    head = [
        f"{verdict_name(report)}: {_cut(report.verdict.summary)}",
        f"run: {_cut(run_line(report))}",
        f"steps: {_cut(steps_line(report))}",
        "step time: "
        + ", ".join(f"{name} {percent(share)}" for name, share in shares(report)),
    ]
    head += [
        f"  {one.share} {one.kind}: {fitted(one.words, _LONGEST_ACTIVITY)}"
        for one in time_lines(report, _ACTIVITIES)
    ]
    if report.capture:
        head.append(f"about this trace: {_cut(report.capture[0].note)}")
    found, asked = advice(report), questions(report)
    verify = (
        [_VERIFY] if any(one.severity is not Severity.INFO for one in found) else []
    )
    for kept, whole in [(3, 3), (3, 2), (3, 1), (2, 2), (2, 1), (1, 1), (1, 0), (0, 0)]:
        shown, all_shown = found[:kept], kept >= min(len(found), 3)
        left = len(found) - len(shown) + len(asked) - (all_shown and bool(asked))
        lines = [
            *head,
            *(
                line
                for at, one in enumerate(shown)
                for line in _finding(at + 1, one, whole=at < whole)
            ),
            *(map(_question, asked[:1]) if all_shown else ()),
            *(_plan(report) if kept else ()),
            *(
                [f"{left} {'more' if kept else 'findings'}: --format json"]
                if left
                else []
            ),
            *(verify if kept else ()),
        ]
        text = "\n".join(lines) + "\n"
        if len(text.encode("utf-8", "replace")) <= LARGEST:
            return text
    return text.encode("utf-8", "replace")[:LARGEST].decode("utf-8", "ignore")


def _question(finding: Finding) -> str:
    takes = takes_words(finding)
    return (
        f"worth checking: {_cut(finding.title)}{f', {takes}' if takes else ''} "
        f"({finding.rule_id}): {_cut(finding.ask or '')}"
    )


def _finding(number: int, finding: Finding, *, whole: bool) -> list[str]:
    """whole: with its snippet, however long; a snippet is never cut."""
    worth = worth_words(finding)
    lines = [
        f"{number}. [{weight_words(finding).lower()}] {_cut(finding.title)} "
        f"({finding.rule_id})"
    ]
    lines += [f"   {worth}"] if worth else []
    tried = tried_words(finding)
    lines += [f"   tried: {tried}"] if tried else []
    lines.append(f"   seen: {cut(one_line(finding.summary), 2 * _LONGEST)}")
    lines += [f"   where: {_cut(location_words(one))}" for one in finding.locations[:1]]
    for fix in finding.fixes[:1]:
        lines.append(f"   edit: {_cut(fix.do)}")
        snippet = printable(fix.snippet).splitlines()
        if whole or len(snippet) <= _FEW_LINES:
            lines += [f"     {line}" for line in snippet]
        else:
            lines.append(
                f"     {len(snippet)} lines: `tfadvisor explain {finding.rule_id}`"
            )
    return lines


def _plan(report: Report) -> list[str]:
    """`plan: RULE 20–40%, then RULE 3–5% of step time`; nothing where one change is all
    there is.
    """
    steps = [f"{one.rule_id} {one.saves}" for one in plan_lines(report)][:_PLANNED]
    return [f"plan: {', then '.join(steps)}"] if len(steps) > 1 else []


def _cut(text: str) -> str:
    return cut(one_line(text), _LONGEST)
