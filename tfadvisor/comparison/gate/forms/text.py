"""The verdict for a terminal: first what it is and why, then what could have been seen,
what was, and what explains it.
"""

from __future__ import annotations

from tfadvisor.comparison.forms import causes, signed, verdict_words
from tfadvisor.comparison.gate.result import Check, GateResult, Outcome
from tfadvisor.comparison.gate.words import change_words
from tfadvisor.printable import one_line
from tfadvisor.text_page import DIM, PLAIN, TITLE, Screen, TextPage
from tfadvisor.units import Unit, counted
from tfadvisor.vocabulary import FRAMEWORKS

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


def as_text(verdict: GateResult, *, screen: Screen = PLAIN) -> str:
    """The verdict as text."""
    page = TextPage(screen)
    banner = f" {NAMES[verdict.outcome]} "
    page.hanging(
        (banner, _BANNER[verdict.outcome]), headline(verdict), len(banner) + 1, 0
    )
    page.line()
    page.line("  ", (subject(verdict), TITLE))
    if seen := could_have_seen(verdict):
        _beside(page, "detects", DIM, seen)
    page.line()
    for outcome in SHOWN:
        alike: dict[tuple[str, str], list[Check]] = {}
        for check in verdict.of(outcome):
            label = (
                "debt"
                if check.news == "known" and outcome is Outcome.WARN
                else outcome.value
            )
            alike.setdefault(
                (label, check.message.removeprefix(f"{check.name}: ")), []
            ).append(check)
        for (label, words), (check, *more) in alike.items():
            told = (
                f"{check.name} and {len(more)} more: {words}" if more else check.message
            )
            _beside(page, label, _STYLES.get(outcome, DIM), one_line(told))
    for outcome in QUIET:
        if checks := verdict.of(outcome):
            names = ", ".join(one_line(check.name) for check in checks)
            _beside(
                page,
                outcome.value,
                _STYLES.get(outcome, DIM),
                f"{len(checks)}: {names}",
            )
    page.line()
    if verdict.comparison is not None and verdict.outcome not in (
        Outcome.PASS,
        Outcome.WARN,
    ):
        page.line((verdict_words(verdict.comparison), TITLE))
        causes(page, verdict.comparison)
        page.line()
    for words in verdict.notices:
        _beside(page, "note", DIM, one_line(words))
    for words in verdict.differences:
        _beside(page, "differs", "yellow", one_line(words))
    if may_be_accepted(verdict):
        _beside(page, "if intended", DIM, 'tfadvisor baseline accept --reason "…"')
    return page.text().rstrip("\n") + "\n"


def _beside(page: TextPage, label: str, style: str, text: str) -> None:
    page.hanging((label, style), text, _MARGIN + _COLUMN, _MARGIN)


# Sentences about a verdict that several forms share.

NAMES = {
    Outcome.PASS: "PASS",
    Outcome.WARN: "PASS, with warnings",
    Outcome.FAIL: "FAIL",
    Outcome.CANNOT_TELL: "CANNOT TELL",
    Outcome.BROKEN: "BROKEN",
}
SHOWN = (
    Outcome.FAIL,
    Outcome.BROKEN,
    Outcome.CANNOT_TELL,
    Outcome.WARN,
    Outcome.IGNORED,
)
"""Outcomes that get a line each, in this order."""
STEP = "step_time_ms"
_MOSTLY = 0.4
"""Share of a change that its largest class has, to be called its cause."""
QUIET = (Outcome.PASS, Outcome.NOT_APPLICABLE)
"""Outcomes that are counted."""


def subject(verdict: GateResult) -> str:
    """`resnet50 · JAX · 8 gpu NVIDIA H100 · 1 run against 10`."""
    return " · ".join(subject_parts(verdict))


def subject_parts(verdict: GateResult) -> list[str]:
    """Model, framework, devices, hosts, run, and how many runs on both sides."""
    gated = verdict.gated
    runs = counted(str(gated.candidates), "run", "runs")
    base = f" against {verdict.runs}" if verdict.runs else ""
    against = f" of each in turns, against {gated.against}" if gated.against else base
    hosts = f"{gated.hosts} hosts" if gated.hosts > 1 else ""
    parts = (
        gated.model,
        FRAMEWORKS.get(gated.framework, ""),
        gated.devices,
        hosts,
        gated.name,
        runs + against,
    )
    return [one_line(part) for part in parts if part]


def headline(verdict: GateResult) -> str:
    """What a reviewer reads first: the surest check that failed, and the largest cause
    of a longer step.
    """
    told = next((found for outcome in SHOWN if (found := verdict.of(outcome))), ())
    if not told:
        judged = len(verdict.of(Outcome.PASS))
        return (
            f"nothing changed in {counted(str(judged), 'check', 'checks')}"
            if judged
            else "nothing to judge"
        )
    first = next((check for check in told if check.name == STEP), told[0])
    words = one_line(first.message).split(";")[0].split(". ")[0].rstrip(".")
    if (
        first.outcome is Outcome.CANNOT_TELL
        and verdict.outcome is not Outcome.CANNOT_TELL
    ):
        words = f"cannot tell: {words}"
    if first.kind == "relative" and (
        cause := _largest_class(verdict) if first.name == STEP else _new_op(verdict)
    ):
        words += f", {cause}"
    more = len(told) - 1
    return f"{words}, and {more} more" if more else words


def _largest_class(verdict: GateResult) -> str:
    """`mostly input +1.81 ms`: the class that the step's change lies in; empty where
    none holds much of it.
    """
    comparison = verdict.comparison
    if comparison is None:
        return ""
    change = comparison.median_change_ms
    largest = max(comparison.classes, key=lambda one: one.change_ms * change)
    mostly = largest.change_ms * change > 0 and abs(largest.change_ms) >= _MOSTLY * abs(
        change
    )
    return f"mostly {largest.name} {signed(largest.change_ms)}" if mostly else ""


def _new_op(verdict: GateResult) -> str:
    """`with the new op dot.9 (train.py:31)`; empty where there is none."""
    ops = (
        [cause.op for cause in verdict.comparison.causes if cause.op]
        if verdict.comparison
        else []
    )
    new = next((op for op in ops if op.status == "new"), None)
    if new is None:
        return ""
    place = f" ({one_line(new.file)}:{new.line})" if new.file and new.line else ""
    return f"with the new op {one_line(new.name)}{place}"


def could_have_seen(verdict: GateResult) -> str:
    """The smallest changes that could have been seen, noisiest metric first; empty
    without a baseline.
    """
    found = [
        (
            one.detectable / abs(one.base) if one.base else 0.0,
            f"{one.name} {_change(one, one.base, one.detectable)}",
        )
        for one in verdict.checks
        if one.detectable is not None and one.base is not None
    ]
    return ", ".join(words for _, words in sorted(found, key=lambda one: -one[0]))


def may_be_accepted(verdict: GateResult) -> bool:
    """Whether there is a baseline whose new level this run could be."""
    return (
        verdict.outcome is Outcome.FAIL
        and verdict.runs > 0
        and not verdict.gated.against
    )


def with_cause(verdict: GateResult, check: Check) -> str:
    """A check's message, and of a limit that failed one sentence about what changed,
    where no table is beside it.
    """
    words = one_line(check.message)
    if (
        check.outcome is Outcome.FAIL
        and check.kind == "relative"
        and verdict.comparison
    ):
        return f"{words} {one_line(verdict_words(verdict.comparison))}"
    return words


def location(verdict: GateResult, check: Check) -> tuple[str, int]:
    """The line of the program that a check is about, else the line of the configuration
    that asks for it; "" for none.
    """
    if check.file:
        return one_line(check.file), check.file_line or 1
    return verdict.config, max(check.line, 1)


def blocks(verdict: GateResult, check: Check) -> bool:
    """Whether the check is what makes the exit code what it is."""
    refuses = (
        check.outcome is Outcome.CANNOT_TELL
        and check.level == "error"
        and verdict.exit_code == 4
    )
    return refuses or check.outcome in (Outcome.FAIL, Outcome.BROKEN)


def _change(check: Check, base: float, detectable: float) -> str:
    words = change_words(base, detectable, Unit(check.unit))
    words = (
        words
        if words == "any"
        else {"up": "+", "down": "−", "both": "±"}[check.worse] + words
    )
    if check.detectable_outside is None or check.detectable_outside >= detectable:
        return words
    return (
        f"{words} ({change_words(base, check.detectable_outside, Unit(check.unit))} "
        "outside the unchanged ops)"
    )
