"""The verdict as JUnit XML: one suite, one test case a check. Read by Jenkins, GitLab, Azure and CircleCI."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from tfadvisor.comparison.outputs.text import as_text as comparison_text
from tfadvisor.gate.judging.result import Check, GateResult, Outcome
from tfadvisor.gate.outputs.wording import blocks
from tfadvisor.report.printable import printable

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SKIPPED = (Outcome.NOT_APPLICABLE, Outcome.IGNORED)


def as_junit(verdict: GateResult) -> str:
    """What fails the gate is a failure; what keeps it from judging, an error; what it was not asked, skipped."""
    cases = [_case(verdict, check) for check in verdict.checks]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
    }
    skipped = str(sum(case.find("skipped") is not None for case in cases))
    name = _text(f"tfadvisor gate {verdict.gated.model}")
    root = ElementTree.Element("testsuites", {"name": name, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **counts, "skipped": skipped})
    suite.extend(cases)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(verdict: GateResult, check: Check) -> ElementTree.Element:
    classname = f"tfadvisor.{check.kind}.{verdict.gated.model}"
    case = ElementTree.Element("testcase", {"classname": _text(classname), "name": _text(check.name), "time": "0"})
    message = {"message": _text(check.message)}
    if check.outcome is Outcome.FAIL:
        told = ElementTree.SubElement(case, "failure", {**message, "type": f"{check.kind} exceeded"})
        told.text = _text(_explained(verdict, check))
    elif check.outcome is Outcome.BROKEN or blocks(verdict, check):
        ElementTree.SubElement(case, "error", {**message, "type": check.outcome.value})
    elif check.outcome in _SKIPPED or check.outcome is Outcome.CANNOT_TELL:
        ElementTree.SubElement(case, "skipped", {**message, "type": check.outcome.value})
    else:
        ElementTree.SubElement(case, "system-out").text = _text(check.message)
    return case


def _explained(verdict: GateResult, check: Check) -> str:
    causes = comparison_text(verdict.comparison) if verdict.comparison and check.kind == "relative" else ""
    return f"{check.message}\n\n{causes}".rstrip()


def _text(words: str) -> str:
    """Only characters that XML 1.0 has."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", printable(words))
