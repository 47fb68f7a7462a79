"""The verdict as Markdown, at most 60 KiB, and as a page."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.comparison.change_forms import (
    TOTAL,
    beside_words,
    cause_rows,
    causes_table,
    signed,
    verdict_words,
)
from tfadvisor.comparison.gate.forms.text import (
    NAMES,
    QUIET,
    SHOWN,
    could_have_seen,
    headline,
    may_be_accepted,
    subject,
    subject_parts,
)
from tfadvisor.comparison.gate.result import Check, GateResult, Outcome
from tfadvisor.html_fragments import prose, table, text
from tfadvisor.printable import in_code, in_markdown
from tfadvisor.report.forms import whole_page
from tfadvisor.units import Unit, in_words

LARGEST = 60 * 1024
_CUT = "_… cut: too long for one summary; `--format json` holds everything._"
_MARKS = {
    Outcome.PASS: "✅",
    Outcome.WARN: "⚠️",
    Outcome.FAIL: "❌",
    Outcome.CANNOT_TELL: "❔",
    Outcome.BROKEN: "💥",
}


def as_markdown(verdict: GateResult) -> str:
    """GitHub-flavoured; everything from traces and files is escaped."""
    sections = [
        _head(verdict),
        _told(verdict),
        _explained(verdict),
        _table(verdict),
        _notes(verdict),
        _foot(verdict),
    ]
    text = ""
    for section in filter(None, sections):
        whole = "\n".join(section) + "\n\n"
        if _size(text + whole) > LARGEST:
            text = _with_what_fits(text, section)
            break
        text += whole
    return text.rstrip("\n") + "\n"


def as_comment(verdict: GateResult) -> str:
    """For a pull request. The first line, which no reader sees, tells the comment that
    the next verdict replaces.
    """
    model = "".join(
        letter if letter.isalnum() or letter in "._" else "."
        for letter in verdict.gated.model[:80]
    )
    return f"<!-- tfadvisor gate {model} -->\n{as_markdown(verdict)}"


def _with_what_fits(text: str, section: Sequence[str]) -> str:
    for line in section:
        if _size(f"{text}{line}\n\n{_CUT}\n") > LARGEST:
            break
        text += line + "\n"
    return f"{text}\n{_CUT}\n"


def _head(verdict: GateResult) -> list[str]:
    lines = [
        f"## {_MARKS[verdict.outcome]} {NAMES[verdict.outcome]}: "
        f"{in_markdown(headline(verdict))[:2000]}"
    ]
    lines += ["", " · ".join(in_code(part) for part in subject_parts(verdict))[:2000]]
    if seen := could_have_seen(verdict):
        lines += ["", f"Detects: {in_markdown(seen)}"]
    return lines


def _told(verdict: GateResult) -> list[str]:
    return [
        f"- **{outcome.value}** {_message(check)}"
        for outcome in SHOWN
        for check in verdict.of(outcome)
    ]


def _message(check: Check) -> str:
    """The sentence, with the metric's name as code where it begins with it."""
    if check.name and check.message.startswith(check.name):
        rest = check.message[len(check.name) :]
        return (
            f"{in_code(check.name)}{' ' if rest[:1] == ' ' else ''}{in_markdown(rest)}"
        )
    return in_markdown(check.message)


def _explained(verdict: GateResult) -> list[str]:
    if verdict.comparison is None or verdict.outcome is Outcome.PASS:
        return []
    return [
        f"### {in_markdown(verdict_words(verdict.comparison))}",
        "",
        *causes_table(verdict.comparison),
    ]


def _table(verdict: GateResult) -> list[str]:
    rows = [check for check in verdict.checks if check.value is not None]
    if not rows:
        return []
    lines = [
        "| metric | baseline | now | limit | p | |",
        "|---|---:|---:|---:|---:|---|",
    ]
    lines += [
        f"| {in_code(check.name, in_table=True)} | {' | '.join(_cells(check))} | "
        f"{check.outcome.value} |"
        for check in rows
    ]
    for outcome in QUIET:
        named = [check.name for check in verdict.of(outcome) if check.value is None]
        if named:
            lines += ["", f"{outcome.value}: {', '.join(map(in_code, named))}"]
    return lines


def _cells(check: Check) -> list[str]:
    return [*_numbers(check), f"{check.p:.2g}" if check.p is not None else ""]


def _notes(verdict: GateResult) -> list[str]:
    notices = [
        *verdict.notices,
        *(f"differs: {difference}" for difference in verdict.differences),
    ]
    return [f"- {in_markdown(notice)}" for notice in notices]


def _foot(verdict: GateResult) -> list[str]:
    rate = f"{verdict.false_alarm_rate * 100:g}%"
    lines = [f"<sub>tfadvisor, false alarm rate over all metrics {rate}.</sub>"]
    if may_be_accepted(verdict):
        lines.insert(
            0, 'If the change is intended: `tfadvisor baseline accept --reason "…"`\n'
        )
    return lines


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


# The verdict as a page: what it is and why, every check, the causes.


def as_html(verdict: GateResult) -> str:
    """The whole document, without scripts of its own. Names from traces are escaped."""
    badge = (
        '<span class="outcome '
        f'{verdict.outcome.name.lower()}">{NAMES[verdict.outcome]}</span>'
    )
    parts = [
        f"<h1>{badge}: {text(headline(verdict))}</h1>",
        f"<p>{text(subject(verdict))}</p>",
    ]
    if seen := could_have_seen(verdict):
        parts.append(f'<p class="dim">Detects: {text(seen)}</p>')
    checks = [check for outcome in (*SHOWN, *QUIET) for check in verdict.of(outcome)]
    rows = [
        (check.outcome.value, check.name, check.message, *_numbers(check))
        for check in checks
    ]
    if rows:
        titles = ("outcome", "check", "what it says", "baseline", "now", "limit")
        parts += ["<h2>Checks</h2>", table(titles, rows, numbers=(3, 4, 5))]
    if verdict.comparison is not None:
        causes = [
            (signed(milliseconds), name, words)
            for milliseconds, name, words in cause_rows(verdict.comparison)
        ]
        causes.append((signed(verdict.comparison.median_change_ms), "", TOTAL))
        parts += [
            f"<h2>{text(verdict_words(verdict.comparison))}</h2>",
            table(("change", "class", "cause"), causes, (0,)),
        ]
        parts += [
            f"<p>{prose(beside_word)}</p>"
            for beside_word in beside_words(verdict.comparison)
        ]
    notices = [
        *verdict.notices,
        *(f"differs: {difference}" for difference in verdict.differences),
    ]
    parts += [f'<p class="dim">{prose(notice)}</p>' for notice in notices]
    return whole_page(f"{NAMES[verdict.outcome]}: {verdict.gated.model}", parts)


def _numbers(check: Check) -> tuple[str, str, str]:
    if not check.unit:
        return "", "", ""
    unit = Unit(check.unit)
    base, now, limit = (
        "" if value is None else in_words(value, unit)
        for value in (check.base, check.value, check.limit)
    )
    return base, now, limit
