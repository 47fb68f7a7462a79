"""Workflow commands for GitHub's runner: it shows about ten annotations of a kind for a step."""

from __future__ import annotations

from tfadvisor.gate.judging.result import Check, GateResult, Outcome
from tfadvisor.gate.outputs.wording import blocks, location, why
from tfadvisor.report.printable import one_line

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
    place = f"file={_property(file)},line={line}," if file and (check.file or check.line) else ""
    words = one_line(check.message)
    if check.outcome is Outcome.FAIL and check.kind == "relative" and (cause := why(verdict)):
        words = f"{words} {one_line(cause)}"
    title = f"tfadvisor: {one_line(check.name)}"
    return f"::{kind} {place}title={_property(title)}::{_data(words)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
