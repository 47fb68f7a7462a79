"""The verdict for CI systems: GitHub annotations, JUnit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from tfadvisor.comparison.change_forms import as_text as comparison_text
from tfadvisor.comparison.gate.forms.text import blocks, location, with_cause
from tfadvisor.comparison.gate.result import Check, GateResult, Outcome
from tfadvisor.printable import one_line, printable

# Workflow commands for GitHub's runner: it shows about ten annotations of a kind for a
# step.

_MOST = 10
_TOLD = (Outcome.FAIL, Outcome.BROKEN, Outcome.CANNOT_TELL, Outcome.WARN)


def workflow_commands(verdict: GateResult) -> list[str]:
    """Errors for what blocks, warnings for the rest; nothing when all is well."""
    errors: list[str] = []
    warnings: list[str] = []
    for outcome in _TOLD:
        for check in verdict.of(outcome):
            if blocks(verdict, check):
                errors.append(_command("error", verdict, check))
            else:
                warnings.append(_command("warning", verdict, check))
    return errors[:_MOST] + warnings[:_MOST]


def _command(kind: str, verdict: GateResult, check: Check) -> str:
    place = ""
    file, line = location(verdict, check)
    if file and (check.file or check.line):
        place = f"file={_property(file)},line={line},"
    title = _property(f"tfadvisor: {one_line(check.name)}")
    return f"::{kind} {place}title={title}::{_data(with_cause(verdict, check))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# The verdict as JUnit XML: one suite, one test case a check. Read by Jenkins, GitLab,
# Azure and CircleCI.

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SKIPPED = (Outcome.NOT_APPLICABLE, Outcome.IGNORED, Outcome.CANNOT_TELL)


def as_junit(verdict: GateResult) -> str:
    """What fails the gate is a failure; what keeps it from judging, an error; what it
    was not asked, skipped.
    """
    cases = [_case(verdict, check) for check in verdict.checks]
    name = _text(f"tfadvisor gate {verdict.gated.model}")
    attributes = {
        "name": name,
        "tests": str(len(cases)),
        "failures": _count(cases, "failure"),
        "errors": _count(cases, "error"),
    }
    root = ElementTree.Element("testsuites", attributes)
    attributes["skipped"] = _count(cases, "skipped")
    suite = ElementTree.SubElement(root, "testsuite", attributes)
    suite.extend(cases)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _count(cases: Sequence[ElementTree.Element], tag: str) -> str:
    return str(sum(case.find(tag) is not None for case in cases))


def _case(verdict: GateResult, check: Check) -> ElementTree.Element:
    classname = f"tfadvisor.{check.kind}.{verdict.gated.model}"
    case = ElementTree.Element(
        "testcase",
        {"classname": _text(classname), "name": _text(check.name), "time": "0"},
    )
    message = _text(check.message)
    if check.outcome is Outcome.FAIL:
        kind = f"{check.kind} exceeded"
        _add(case, "failure", message, kind).text = _text(_explained(verdict, check))
    elif check.outcome is Outcome.BROKEN or blocks(verdict, check):
        _add(case, "error", message, check.outcome.value)
    elif check.outcome in _SKIPPED:
        _add(case, "skipped", message, check.outcome.value)
    else:
        ElementTree.SubElement(case, "system-out").text = message
    return case


def _add(
    case: ElementTree.Element, tag: str, message: str, kind: str
) -> ElementTree.Element:
    return ElementTree.SubElement(case, tag, {"message": message, "type": kind})


def _explained(verdict: GateResult, check: Check) -> str:
    if verdict.comparison is None or check.kind != "relative":
        return check.message
    return f"{check.message}\n\n{comparison_text(verdict.comparison)}".rstrip()


def _text(words: str) -> str:
    """Only characters that XML 1.0 has."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", printable(words))
