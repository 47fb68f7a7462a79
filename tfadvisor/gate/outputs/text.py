"""The verdict for a terminal: what could have been seen, what was, and why."""

from __future__ import annotations

from typing import TextIO

from tfadvisor.comparison.outputs.terminal_lines import (
    BLACK_ON_GREEN,
    BLACK_ON_YELLOW,
    BOLD,
    DIM,
    GREEN,
    RED,
    WHITE_ON_RED,
    YELLOW,
    Page,
)
from tfadvisor.comparison.outputs.text import causes
from tfadvisor.comparison.wording import verdict_words
from tfadvisor.gate.judging.result import GateResult, Outcome
from tfadvisor.gate.outputs.wording import NAMES, QUIET, SHOWN, could_have_seen, subject
from tfadvisor.report.printable import one_line

_COLUMN = 17
_BANNER = {
    Outcome.PASS: BLACK_ON_GREEN,
    Outcome.WARN: BLACK_ON_GREEN,
    Outcome.CANNOT_TELL: BLACK_ON_YELLOW,
    Outcome.FAIL: WHITE_ON_RED,
    Outcome.BROKEN: WHITE_ON_RED,
}
_STYLES = {
    Outcome.FAIL: RED,
    Outcome.BROKEN: RED,
    Outcome.CANNOT_TELL: YELLOW,
    Outcome.WARN: YELLOW,
    Outcome.PASS: GREEN,
}


def print_verdict(verdict: GateResult, out: TextIO) -> None:
    """Writes to a stream; colours only on a terminal and without NO_COLOR."""
    page = Page(out)
    if seen := could_have_seen(verdict):
        page.hanging("could have seen", seen, _COLUMN, DIM)
        page.line()
    banner = page.styled(f" {NAMES[verdict.outcome]} ", _BANNER[verdict.outcome])
    page.line(f"{banner}  {page.styled(subject(verdict), BOLD)}")
    page.line()
    for outcome in SHOWN:
        for check in verdict.of(outcome):
            page.hanging(outcome.value, one_line(check.message), _COLUMN, _STYLES.get(outcome, DIM))
    for outcome in QUIET:
        if checks := verdict.of(outcome):
            names = ", ".join(one_line(check.name) for check in checks)
            page.hanging(outcome.value, f"{len(checks)}: {names}", _COLUMN, _STYLES.get(outcome, DIM))
    page.line()
    if verdict.comparison is not None and _explains(verdict):
        page.line(verdict_words(verdict.comparison), BOLD)
        causes(page, verdict.comparison)
        page.line()
    for words in verdict.notices:
        page.hanging("note", one_line(words), _COLUMN, DIM)
    for words in verdict.differences:
        page.hanging("differs", one_line(words), _COLUMN, YELLOW)
    for words in verdict.tighten:
        page.hanging("could be tighter", one_line(words), _COLUMN, DIM)
    if verdict.outcome is Outcome.FAIL and verdict.runs:
        page.hanging("if it is meant", 'tfadvisor baseline accept --reason "…"', _COLUMN, DIM)
    out.write(page.text().rstrip("\n") + "\n")
    out.flush()


def _explains(verdict: GateResult) -> bool:
    return verdict.outcome in (Outcome.FAIL, Outcome.CANNOT_TELL, Outcome.BROKEN)


def as_text(verdict: GateResult) -> str:
    """The same as a string without colours."""
    import io  # noqa: PLC0415

    out = io.StringIO()
    print_verdict(verdict, out)
    return out.getvalue()
