"""The verdict for CI systems: GitHub annotations, JUnit."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from tfadvisor.comparison.forms import as_text as comparison_text
from tfadvisor.comparison.gate.forms.text import blocks, location, with_cause
from tfadvisor.comparison.gate.result import Check, GateResult, Outcome
from tfadvisor.printable import one_line, printable

# Workflow commands for GitHub's runner: it shows about ten annotations of a kind for a
# step.

_MOST = 10
_TOLD = (Outcome.FAIL, Outcome.BROKEN, Outcome.CANNOT_TELL, Outcome.WARN)


def workflow_commands(verdict: GateResult) -> list[str]:
    """Errors for what blocks, warnings for the rest; nothing when all is well."""
    told = [check for outcome in _TOLD for check in verdict.of(outcome)]
    errors = [check for check in told if blocks(verdict, check)]
    warnings = [check for check in told if not blocks(verdict, check)]
    lines = [_command("error", verdict, check) for check in errors[:_MOST]]
    return lines + [_command("warning", verdict, check) for check in warnings[:_MOST]]


def _command(kind: str, verdict: GateResult, check: Check) -> str:
    file, line = location(verdict, check)
    place = (
        f"file={_property(file)},line={line},"
        if file and (check.file or check.line)
        else ""
    )
    title = f"tfadvisor: {one_line(check.name)}"
    return (
        f"::{kind} {place}title={_property(title)}::{_data(with_cause(verdict, check))}"
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# The verdict as JUnit XML: one suite, one test case a check. Read by Jenkins, GitLab,
# Azure and CircleCI.

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SKIPPED = (Outcome.NOT_APPLICABLE, Outcome.IGNORED)


def as_junit(verdict: GateResult) -> str:
    """What fails the gate is a failure; what keeps it from judging, an error; what it
    was not asked, skipped.
    """
    cases = [_case(verdict, check) for check in verdict.checks]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
    }
    skipped = str(sum(case.find("skipped") is not None for case in cases))
    name = _text(f"tfadvisor gate {verdict.gated.model}")
    root = ElementTree.Element("testsuites", {"name": name, **counts})
    suite = ElementTree.SubElement(
        root, "testsuite", {"name": name, **counts, "skipped": skipped}
    )
    suite.extend(cases)
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _case(verdict: GateResult, check: Check) -> ElementTree.Element:
    classname = f"tfadvisor.{check.kind}.{verdict.gated.model}"
    case = ElementTree.Element(
        "testcase",
        {"classname": _text(classname), "name": _text(check.name), "time": "0"},
    )
    message = {"message": _text(check.message)}
    if check.outcome is Outcome.FAIL:
        told = ElementTree.SubElement(
            case, "failure", {**message, "type": f"{check.kind} exceeded"}
        )
        told.text = _text(_explained(verdict, check))
    elif check.outcome is Outcome.BROKEN or blocks(verdict, check):
        ElementTree.SubElement(case, "error", {**message, "type": check.outcome.value})
    elif check.outcome in _SKIPPED or check.outcome is Outcome.CANNOT_TELL:
        ElementTree.SubElement(
            case, "skipped", {**message, "type": check.outcome.value}
        )
    else:
        ElementTree.SubElement(case, "system-out").text = _text(check.message)
    return case


def _explained(verdict: GateResult, check: Check) -> str:
    causes = (
        comparison_text(verdict.comparison)
        if verdict.comparison and check.kind == "relative"
        else ""
    )
    return f"{check.message}\n\n{causes}".rstrip()


def _text(words: str) -> str:
    """Only characters that XML 1.0 has."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", printable(words))
