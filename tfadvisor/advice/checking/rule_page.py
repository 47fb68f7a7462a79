"""A rule as a page for people: why it matters, when it fires and what it prescribes."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.advice.judging.conditions import (
    Compare,
    Condition,
    FactIs,
    Joined,
    Known,
    as_example,
)
from tfadvisor.advice.loading.rule import FixRule, Rule

_WORDS = {
    "above": "above",
    "at_least": "at least",
    "below": "below",
    "at_most": "at most",
}
_JOINED = {"all": "all of", "any": "any of", "not": "not"}


def rule_page(rule: Rule, heading: str = "###") -> str:
    """Markdown, by default below a heading of the third level."""
    lines = [
        f"{heading} {rule.id}",
        "",
        *_standing_lines(rule),
        f"**{rule.title}.** {rule.why.strip()}",
        "",
        "Fires when",
        "",
    ]
    lines += [*_condition_lines(rule.when, 0), ""]
    for fix in rule.fixes:
        lines += [*_fix_lines(fix), ""]
    if rule.codemods:
        named = ", ".join(
            f"`{codemod.name}` ({codemod.sure}, check: {codemod.check})"
            for codemod in rule.codemods
        )
        lines += [f"`tfadvisor fix` tries {named}.", ""]
    lines.append(
        "Source: "
        + ", ".join(f"[{source.section}]({source.url})" for source in rule.source)
        + "\n"
    )
    if rule.confirmed:
        lines.append("Confirmed by " + "; ".join(rule.confirmed) + "\n")
    return "\n".join(lines)


def index_page(rules: Sequence[Rule]) -> str:
    """All rules by category, with links to their pages; which are preview."""
    lines = ["# Rules", ""]
    for category in sorted({rule.category for rule in rules}):
        lines += [f"## {category}", ""]
        lines += [
            f"- [{rule.id}]({rule.id}.md): "
            f"{rule.title}{' (preview)' if rule.is_preview else ''}"
            for rule in rules
            if rule.category == category
        ]
        lines.append("")
    return "\n".join(lines)


def _standing_lines(rule: Rule) -> list[str]:
    """Of a rule that is off unless asked for, that no recording confirms, or that
    asks.
    """
    lines = []
    if rule.is_preview:
        lines += ["_Preview: off unless `--preview` is given._", ""]
    if rule.is_documented:
        lines += ["_Documented: its source describes this; no recording shows it._", ""]
    if rule.is_likely:
        lines += [f"_Worth checking:_ {rule.ask}", ""]
    return lines


def _condition_lines(condition: Condition, depth: int) -> list[str]:
    """A nested list; the outermost `all` is not said."""
    indent = "  " * depth
    if not isinstance(condition, Joined):
        return [f"{indent}- {_in_words(condition)}"]
    if condition.how == "all" and not depth:
        return [line for part in condition.parts for line in _condition_lines(part, 0)]
    head = f"{indent}- {_JOINED[condition.how]}"
    return [
        head,
        *(
            line
            for part in condition.parts
            for line in _condition_lines(part, depth + 1)
        ),
    ]


def _in_words(condition: Compare | FactIs | Known) -> str:
    if isinstance(condition, Compare):
        why = f" ({condition.because})" if condition.because else ""
        return (
            f"`{condition.metric}` {_WORDS[condition.operator]} "
            f"{condition.bound:g}{why}"
        )
    if isinstance(condition, FactIs):
        return f"`{condition.fact}` is {' or '.join(condition.words)}"
    return f"`{condition.name}` is {'known' if condition.known else 'not known'}"


def _fix_lines(fix: FixRule) -> list[str]:
    """What it cures, when it is printed, the program before and after."""
    lines = [f"{fix.do} _({fix.valid_for})_", ""]
    if fix.cures:
        lines += [f"Cures: {fix.cures}.", ""]
    for word, condition in (("Needs", fix.needs), ("Never where", fix.never)):
        if condition is not None:
            lines += [f"{word}", "", *_condition_lines(condition, 0), ""]
    for word, code in (("Before", fix.before), ("After", fix.snippet)):
        if code:
            lines += [f"{word}", "", *_code_lines(fix.kind, as_example(code)), ""]
    if fix.side_effect:
        lines += [f"Side effect: {fix.side_effect.strip()}", ""]
    return lines[:-1]


def _code_lines(kind: str, code: str) -> list[str]:
    return ["```python" if kind == "code" else "```sh", code.rstrip(), "```"]
