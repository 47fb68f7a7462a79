"""What a rule looks for, why it matters, what it prescribes, and on what grounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from tfadvisor.advice.explaining.explained import Known, Paragraph, first_sentence
from tfadvisor.advice.judging.conditions import as_pattern, is_known, placeholders
from tfadvisor.advice.loading.rule import FixRule, Rule
from tfadvisor.advice.loading.rule_limits import limits_of
from tfadvisor.metrics import registered_facts, registered_metrics

RULE = "rule"


def rules_known(rules: Sequence[Rule]) -> Iterator[Known]:
    """Every rule."""
    for rule in rules:
        yield Known((rule.id,), RULE, rule.title, partial(_about_rule, rule))


def _about_rule(rule: Rule) -> tuple[Paragraph, ...]:
    found = [
        Paragraph(f"{rule.title} ({rule.category}, {rule.tier}, {rule.proof})"),
        Paragraph(as_pattern(rule.why)),
    ]
    if rule.ask:
        found.append(Paragraph(f"Asks: {as_pattern(rule.ask)}"))
    for fix in rule.fixes:
        found += _about_fix(fix)
    found += _filled_in(rule)
    found += _about_limits(rule)
    for source in rule.source:
        found.append(Paragraph(f"Source: {source.doc} {source.section} {source.url}"))
    for confirmed in rule.confirmed:
        found.append(Paragraph(f"Confirmed by: {confirmed}"))
    return tuple(found)


def _about_fix(fix: FixRule) -> Iterator[Paragraph]:
    yield Paragraph(f"Fix ({fix.kind}): {as_pattern(fix.do)}")
    if fix.cures:
        yield Paragraph(f"Cures: {fix.cures}", indent=2)
    for word, code in (("Before", fix.before), ("After", fix.snippet)):
        if code:
            yield Paragraph(f"{word}:", indent=2)
            yield Paragraph(as_pattern(code), is_code=True)
    yield Paragraph(f"Valid for: {fix.valid_for}", indent=2)
    if fix.side_effect:
        yield Paragraph(f"Side effect: {as_pattern(fix.side_effect)}", indent=2)


def _filled_in(rule: Rule) -> Iterator[Paragraph]:
    """What stands in a report for each <name> above."""
    texts = [rule.why, rule.ask, *chain.from_iterable(map(_texts_of, rule.fixes))]
    named = dict.fromkeys(chain.from_iterable(map(placeholders, texts)))
    known = [name for name in named if is_known(name)]
    if not known:
        return
    yield Paragraph("A report fills in:")
    metrics, facts = registered_metrics(), registered_facts()
    for name in known:
        about = metrics[name].about if name in metrics else facts[name].about
        yield Paragraph(f"<{name}>  {first_sentence(about)}", indent=2)


def _texts_of(fix: FixRule) -> tuple[str, ...]:
    return fix.do, fix.before, fix.snippet, fix.side_effect


def _about_limits(rule: Rule) -> Iterator[Paragraph]:
    """The rule's numbers: name, unit, meaning, reason."""
    limits = limits_of(rule)
    if not limits:
        yield Paragraph("It compares no metric with a number, so it has no limit.")
        return

    yield Paragraph("Limits:")
    for limit in limits:
        yield Paragraph(f"{limit.name}  {limit.words} ({limit.unit.value})", indent=2)
        yield Paragraph(registered_metrics()[limit.metric].about, indent=6)
        if limit.because:
            yield Paragraph(f"Because {limit.because}", indent=6)
