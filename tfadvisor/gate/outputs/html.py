"""The verdict as a page: what it is and why, every check, the causes, and where the other pages are."""

from __future__ import annotations

from tfadvisor.comparison.wording import TOTAL, beside_words, cause_words, shown_causes, signed, verdict_words
from tfadvisor.gate.judging.result import Check, GateResult
from tfadvisor.gate.outputs.wording import NAMES, QUIET, SHOWN, could_have_seen, headline, subject
from tfadvisor.report.plain_page import table, text, whole_page
from tfadvisor.units import Unit, in_words


def as_html(verdict: GateResult, pages: tuple[tuple[str, str], ...] = ()) -> str:
    """pages: (file beside this one, what it shows)."""
    parts = [f"<h1>{NAMES[verdict.outcome]}: {text(headline(verdict))}</h1>", f"<p>{text(subject(verdict))}</p>"]
    parts += [f'<p><a href="{file}">{text(what)}</a></p>' for file, what in pages]
    if seen := could_have_seen(verdict):
        parts.append(f'<p class="dim">Detects: {text(seen)}</p>')
    checks = verdict.in_order(*SHOWN, *QUIET)
    rows = [(one.outcome.value, one.name, one.message, *_numbers(one)) for one in checks]
    if rows:
        titles = ("outcome", "check", "what it says", "baseline", "now", "limit")
        parts += ["<h2>Checks</h2>", table(titles, rows, numbers=(3, 4, 5))]
    if verdict.comparison is not None:
        shown, left = shown_causes(verdict.comparison)
        causes = [(signed(one.change_ms), one.class_name, cause_words(one)) for one in shown]
        causes += [(signed(milliseconds), "", words) for milliseconds, words in left]
        causes.append((signed(verdict.comparison.median_change_ms), "", TOTAL))
        parts += [
            f"<h2>{text(verdict_words(verdict.comparison))}</h2>",
            table(("change", "class", "cause"), causes, (0,)),
        ]
        parts += [f"<p>{text(one)}</p>" for one in beside_words(verdict.comparison, shown)]
    told = [*verdict.notices, *(f"differs: {one}" for one in verdict.differences), *verdict.tighten]
    parts += [f'<p class="dim">{text(one)}</p>' for one in told]
    return whole_page(f"{NAMES[verdict.outcome]}: {verdict.gated.model}", parts)


def _numbers(check: Check) -> tuple[str, str, str]:
    if not check.unit:
        return "", "", ""
    unit = Unit(check.unit)
    base, now, limit = ("" if one is None else in_words(one, unit) for one in (check.base, check.value, check.limit))
    return base, now, limit
