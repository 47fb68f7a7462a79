"""The verdict for a terminal: first what it is and why, then what could have been seen, what was, and what explains it."""

from __future__ import annotations

from typing import TextIO

from tfadvisor.comparison.outputs.text import causes
from tfadvisor.comparison.wording import verdict_words
from tfadvisor.gate.judging.result import GateResult, Outcome
from tfadvisor.gate.outputs.wording import NAMES, QUIET, SHOWN, could_have_seen, headline, may_be_accepted, subject
from tfadvisor.report.printable import one_line
from tfadvisor.report.terminal_text import DIM, PLAIN, TITLE, Screen, TextPage, screen_of

_MARGIN = 2
_COLUMN = 17
_BANNER = {
    Outcome.PASS: "bold black on green",
    Outcome.WARN: "bold black on green",
    Outcome.CANNOT_TELL: "bold black on yellow",
    Outcome.FAIL: "bold bright_white on red",
    Outcome.BROKEN: "bold bright_white on red",
}
_STYLES = {
    Outcome.FAIL: "bold red",
    Outcome.BROKEN: "bold red",
    Outcome.CANNOT_TELL: "yellow",
    Outcome.WARN: "yellow",
    Outcome.PASS: "green",
}


def print_verdict(verdict: GateResult, out: TextIO) -> None:
    """Writes to a stream, as wide and colourful as that is."""
    out.write(as_text(verdict, screen=screen_of(out)))
    out.flush()


def as_text(verdict: GateResult, *, screen: Screen = PLAIN) -> str:
    """The verdict as text."""
    page = TextPage(screen)
    banner = f" {NAMES[verdict.outcome]} "
    page.hanging((banner, _BANNER[verdict.outcome]), headline(verdict), len(banner) + 1, 0)
    page.line()
    page.line("  ", (subject(verdict), TITLE))
    if verdict.link:
        _beside(page, "pages", DIM, one_line(verdict.link))
    if seen := could_have_seen(verdict):
        _beside(page, "detects", DIM, seen)
    page.line()
    for outcome in SHOWN:
        for check in verdict.of(outcome):
            label = "debt" if check.news == "known" and outcome is Outcome.WARN else outcome.value
            _beside(page, label, _STYLES.get(outcome, DIM), one_line(check.message))
    for outcome in QUIET:
        if checks := verdict.of(outcome):
            names = ", ".join(one_line(check.name) for check in checks)
            _beside(page, outcome.value, _STYLES.get(outcome, DIM), f"{len(checks)}: {names}")
    page.line()
    if verdict.comparison is not None and _explains(verdict):
        page.line((verdict_words(verdict.comparison), TITLE))
        causes(page, verdict.comparison)
        page.line()
    for words in verdict.notices:
        _beside(page, "note", DIM, one_line(words))
    for words in verdict.differences:
        _beside(page, "differs", "yellow", one_line(words))
    for words in verdict.tighten:
        _beside(page, "could be tighter", DIM, one_line(words))
    if may_be_accepted(verdict):
        _beside(page, "if intended", DIM, 'tfadvisor baseline accept --reason "…"')
    return page.text().rstrip("\n") + "\n"


def _beside(page: TextPage, label: str, style: str, text: str) -> None:
    page.hanging((label, style), text, _MARGIN + _COLUMN, _MARGIN)


def _explains(verdict: GateResult) -> bool:
    return verdict.outcome in (Outcome.FAIL, Outcome.CANNOT_TELL, Outcome.BROKEN)
