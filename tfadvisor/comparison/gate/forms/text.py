"""The verdict for a terminal: first what it is and why, then what could have been seen,
what was, and what explains it.
"""

from __future__ import annotations

from tfadvisor.comparison.change_forms import causes, signed, verdict_words
from tfadvisor.comparison.gate.result import Check, GateResult, Outcome
from tfadvisor.comparison.gate.words import change_words
from tfadvisor.printable import one_line
from tfadvisor.tallies import listed
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
_SIGNS = {"up": "+", "down": "−", "both": "±"}
"""Of a change for the worse."""
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
    style = _BANNER[verdict.outcome]
    page.hanging((banner, style), headline(verdict), len(banner) + 1, 0)
    page.line()
    page.line("  ", (subject(verdict), TITLE))
    seen = could_have_seen(verdict)
    if seen:
        _beside(page, "detects", DIM, seen)
    page.line()

    for outcome in SHOWN:
        _shown(page, verdict, outcome)
    for outcome in QUIET:
        _counted(page, verdict, outcome)
    page.line()

    _explained(page, verdict)
    for words in verdict.notices:
        _beside(page, "note", DIM, one_line(words))
    for words in verdict.differences:
        _beside(page, "differs", "yellow", one_line(words))
    if may_be_accepted(verdict):
        _beside(page, "if intended", DIM, 'tfadvisor baseline accept --reason "…"')
    return page.text().rstrip("\n") + "\n"


def _shown(page: TextPage, verdict: GateResult, outcome: Outcome) -> None:
    """A line for each check; one for several that say the same."""
    alike = listed((_said(check), check) for check in verdict.of(outcome))
    for (label, words), checks in alike.items():
        first, *more = checks
        message = first.message
        if more:
            message = f"{first.name} and {len(more)} more: {words}"
        _beside(page, label, _STYLES.get(outcome, DIM), one_line(message))


def _said(check: Check) -> tuple[str, str]:
    """The check's label, and its words without its name."""
    is_debt = check.news == "known" and check.outcome is Outcome.WARN
    label = "debt" if is_debt else check.outcome.value
    return label, check.message.removeprefix(f"{check.name}: ")


def _counted(page: TextPage, verdict: GateResult, outcome: Outcome) -> None:
    checks = verdict.of(outcome)
    if checks:
        names = ", ".join(one_line(check.name) for check in checks)
        style = _STYLES.get(outcome, DIM)
        _beside(page, outcome.value, style, f"{len(checks)}: {names}")


def _explained(page: TextPage, verdict: GateResult) -> None:
    """What changed, where the gate did not pass."""
    is_passed = verdict.outcome in (Outcome.PASS, Outcome.WARN)
    if verdict.comparison is None or is_passed:
        return
    against = one_line(verdict.comparison.base.name)
    words = f"Against {against}: {verdict_words(verdict.comparison)}"
    page.hanging("", (words, TITLE), 0)
    causes(page, verdict.comparison)
    page.line()


def _beside(page: TextPage, label: str, style: str, text: str) -> None:
    page.hanging((label, style), text, _MARGIN + _COLUMN, _MARGIN)


# Sentences about a verdict that several forms share.

NAMES = {
    Outcome.PASS: "PASSED",
    Outcome.WARN: "PASSED, with warnings",
    Outcome.FAIL: "FAILED",
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
    if gated.against:
        runs += f" of each in turns, against {gated.against}"
    elif verdict.runs:
        runs += f" against {verdict.runs}"
    parts = (
        gated.model,
        FRAMEWORKS.get(gated.framework, ""),
        gated.devices,
        f"{gated.hosts} hosts" if gated.hosts > 1 else "",
        gated.name,
        runs,
    )
    return [one_line(part) for part in parts if part]


def headline(verdict: GateResult) -> str:
    """What a reviewer reads first: the surest check that failed, and the largest cause
    of a longer step.
    """
    worst = _worst(verdict)
    if not worst:
        judged = len(verdict.of(Outcome.PASS))
        checks = counted(str(judged), "check", "checks")
        return f"nothing changed in {checks}" if judged else "nothing to judge"

    of_step = [check for check in worst if check.name == STEP]
    first = of_step[0] if of_step else worst[0]
    words = one_line(first.message).split(";")[0].split(". ")[0].rstrip(".")
    is_open = first.outcome is Outcome.CANNOT_TELL
    if is_open and verdict.outcome is not Outcome.CANNOT_TELL:
        words = f"cannot tell: {words}"
    cause = _cause(verdict, first)
    if cause:
        words += f", {cause}"

    more = len(worst) - 1
    return f"{words}, and {more} more" if more else words


def _worst(verdict: GateResult) -> tuple[Check, ...]:
    """The checks of the worst outcome that has any."""
    for outcome in SHOWN:
        checks = verdict.of(outcome)
        if checks:
            return checks
    return ()


def _cause(verdict: GateResult, check: Check) -> str:
    if check.kind != "relative":
        return ""
    return _largest_class(verdict) if check.name == STEP else _new_op(verdict)


def _largest_class(verdict: GateResult) -> str:
    """`mostly input +1.81 ms`: the class that the step's change lies in; empty where
    none holds much of it.
    """
    comparison = verdict.comparison
    if comparison is None:
        return ""

    change = comparison.median_change_ms
    largest = max(comparison.classes, key=lambda class_: class_.change_ms * change)
    is_alike = largest.change_ms * change > 0
    if not is_alike or abs(largest.change_ms) < _MOSTLY * abs(change):
        return ""
    return f"mostly {largest.name} {signed(largest.change_ms)}"


def _new_op(verdict: GateResult) -> str:
    """`with the new op dot.9 (train.py:31)`; empty where there is none."""
    if verdict.comparison is None:
        return ""
    ops = [cause.op for cause in verdict.comparison.causes if cause.op]
    new = [op for op in ops if op.status == "new"]
    if not new:
        return ""

    first = new[0]
    place = ""
    if first.file and first.line:
        place = f" ({one_line(first.file)}:{first.line})"
    return f"with the new op {one_line(first.name)}{place}"


def could_have_seen(verdict: GateResult) -> str:
    """The smallest changes that could have been seen, noisiest metric first; empty
    without a baseline.
    """
    found: list[tuple[float, str]] = []
    for check in verdict.checks:
        base, detectable = check.base, check.detectable
        if base is not None and detectable is not None:
            share = detectable / abs(base) if base else 0.0
            found.append((share, f"{check.name} {_change(check, base, detectable)}"))
    found.sort(key=lambda change: -change[0])
    return ", ".join(words for _, words in found)


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
    is_limit = check.outcome is Outcome.FAIL and check.kind == "relative"
    if not is_limit or verdict.comparison is None:
        return words
    return f"{words} {one_line(verdict_words(verdict.comparison))}"


def location(verdict: GateResult, check: Check) -> tuple[str, int]:
    """The line of the program that a check is about, else the line of the configuration
    that asks for it; "" for none.
    """
    if check.file:
        return one_line(check.file), check.file_line or 1
    return verdict.config, max(check.line, 1)


def blocks(verdict: GateResult, check: Check) -> bool:
    """Whether the check is what makes the exit code what it is."""
    if check.outcome is Outcome.CANNOT_TELL:
        return check.level == "error" and verdict.exit_code == 4
    return check.outcome in (Outcome.FAIL, Outcome.BROKEN)


def _change(check: Check, base: float, detectable: float) -> str:
    unit = Unit(check.unit)
    words = change_words(base, detectable, unit)
    if words != "any":
        words = _SIGNS[check.worse] + words

    outside = check.detectable_outside
    if outside is None or outside >= detectable:
        return words
    return f"{words} ({change_words(base, outside, unit)} outside the unchanged ops)"
