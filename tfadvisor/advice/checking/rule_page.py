"""A rule as a page for people: why it matters, when it fires, what it prescribes, and the cases that it is tested with."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tfadvisor.advice.judging.conditions import Compare, Condition, FactIs, Joined, Known
from tfadvisor.advice.loading.rule import FixRule, Rule

if TYPE_CHECKING:
    from tfadvisor.advice.checking.cases import Case

_WORDS = {"above": "above", "at_least": "at least", "below": "below", "at_most": "at most"}
_JOINED = {"all": "all of", "any": "any of", "not": "not"}


def rule_page(rule: Rule) -> str:
    """Markdown below a heading of the third level."""
    lines = [
        f"### {rule.id}",
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
        lines += [_codemods_line(rule), ""]
    lines.append("Source: " + ", ".join(f"[{source.section}]({source.url})" for source in rule.source) + "\n")
    if rule.confirmed:
        lines.append("Confirmed by " + "; ".join(rule.confirmed) + "\n")
    return "\n".join(lines)


def whole_page(rule: Rule) -> str:
    """The same with the rule's cases, where their file is at hand, as its own page."""
    page = rule_page(rule).replace("### ", "# ", 1)
    cases = cases_of(rule)
    return page if not cases else f"{page}\n## Cases\n\n{case_table(cases)}"


def index_page(rules: Sequence[Rule]) -> str:
    """All rules by category, with links to their pages; which are preview."""
    lines = ["# Rules", ""]
    for category in sorted({rule.category for rule in rules}):
        lines += [f"## {category}", ""]
        lines += [
            f"- [{rule.id}]({rule.id}.md): {rule.title}{' (preview)' if rule.is_preview else ''}"
            for rule in rules
            if rule.category == category
        ]
        lines.append("")
    return "\n".join(lines)


def cases_of(rule: Rule) -> list[Case]:
    """The cases beside a rule's file; none where they were not installed. Raises RuleError when they are wrong."""
    from tfadvisor.advice.checking.cases import load_cases  # reads YAML

    file = Path(rule.file)
    if not file.is_absolute() and file.parts[0] == "rules" and not file.exists():
        file = Path(import_module("tfadvisor.rules").__path__[0], *file.parts[1:])
    beside = file.with_name(f"{file.stem}.cases.yaml")
    return load_cases(beside) if beside.exists() else []


def case_table(cases: Sequence[Case]) -> str:
    """One row a case: what is given, and what the rule makes of it."""
    rows = [
        f"| {_cell(case.name)} | {_cell(_given(case))} | {case.expect}{f', {case.severity}' if case.severity else ''} |"
        for case in cases
    ]
    return "\n".join(["| case | given | outcome |", "|---|---|---|", *rows]) + "\n"


def _standing_lines(rule: Rule) -> list[str]:
    """Of a rule that is off unless asked for, or that asks."""
    lines = ["_Preview: off unless `--preview` is given._", ""] if rule.is_preview else []
    return [*lines, f"_Worth checking:_ {rule.ask}", ""] if rule.is_likely else lines


def _given(case: Case) -> str:
    metrics = [f"{name} {value:g}" for name, value in case.metrics.items()]
    return ", ".join([*metrics, *(f"{name} {text}" for name, text in case.facts.items())]) or "nothing"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _condition_lines(condition: Condition, depth: int) -> list[str]:
    """A nested list; the outermost `all` is not said."""
    indent = "  " * depth
    if not isinstance(condition, Joined):
        return [f"{indent}- {_in_words(condition)}"]
    if condition.how == "all" and not depth:
        return [line for part in condition.parts for line in _condition_lines(part, 0)]
    head = f"{indent}- {_JOINED[condition.how]}"
    return [head, *(line for part in condition.parts for line in _condition_lines(part, depth + 1))]


def _in_words(condition: Compare | FactIs | Known) -> str:
    if isinstance(condition, Compare):
        why = f" ({condition.because})" if condition.because else ""
        return f"`{condition.metric}` {_WORDS[condition.operator]} {condition.bound:g}{why}"
    if isinstance(condition, FactIs):
        return f"`{condition.fact}` is {' or '.join(condition.words)}"
    return f"`{condition.name}` is {'known' if condition.known else 'not known'}"


def _codemods_line(rule: Rule) -> str:
    named = ", ".join(f"`{one.name}` ({one.sure}, check: {one.check})" for one in rule.codemods)
    return f"`tfadvisor fix` tries {named}."


def _fix_lines(fix: FixRule) -> list[str]:
    lines = [f"{fix.do} _({fix.valid_for})_", ""]
    lines += ["```python" if fix.kind == "code" else "```sh", fix.snippet.rstrip(), "```"]
    return [*lines, "", f"Side effect: {fix.side_effect.strip()}"] if fix.side_effect else lines
