"""Cases of a rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.checking.standards import shortcomings
from tfadvisor.advice.findings import Finding, NotApplicable
from tfadvisor.advice.judging.judge_rules import judge
from tfadvisor.advice.judging.judged import Judged
from tfadvisor.advice.loading.catalogue import checked, in_its_folder, is_rule
from tfadvisor.advice.loading.rule import Rule, refused
from tfadvisor.advice.loading.yaml_marks import Marked, load, read_rule_file
from tfadvisor.advice.ranking import finding_alone, severity
from tfadvisor.errors import RuleError
from tfadvisor.metrics import (
    Measured,
    Metrics,
    registered_facts,
    registered_metrics,
)

_OUTCOMES = ("quiet", "fired", "not-applicable")
_ABSENT = "not given in this case"


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """metrics and facts that are given; all others are absent. expect: quiet, fired or
    not-applicable.

    says, says_not: what the finding's texts must and must not hold.
    """

    name: str
    expect: str
    metrics: dict[str, float] = {}
    facts: dict[str, str] = {}
    severity: str | None = None
    says: tuple[str, ...] = ()
    says_not: tuple[str, ...] = ()
    line: int = 1


class CheckedFolder(msgspec.Struct, frozen=True):
    """What a folder of rules came to."""

    rules: int
    cases: int
    failures: tuple[str, ...]


def check_folder(folder: Path) -> CheckedFolder:
    """Lints every rule below a folder and runs its cases."""
    rules = cases = 0
    failures: list[str] = []
    for file in sorted(folder.rglob("*.yaml")):
        if not is_rule(file.name):
            failures += _without_rule(file)
            continue
        rules += 1
        try:
            rule = in_its_folder(checked(load(read_rule_file(file), str(file))))
            found = load_cases(file.with_name(f"{file.stem}.cases.yaml"))
        except RuleError as error:
            failures.append(str(error))
            continue
        cases += len(found)
        failures += _failures_of(rule, file, found)
    return CheckedFolder(rules, cases, tuple(failures))


def _without_rule(file: Path) -> Iterator[str]:
    """Of a file that is none: cases need one."""
    name, is_cases, _ = file.name.partition(".cases.yaml")
    if is_cases and not file.with_name(f"{name}.yaml").exists():
        yield f"{file}: there is no rule for these cases"


def _failures_of(
    rule: Rule,
    file: Path,
    cases: list[Case],
) -> Iterator[str]:
    if rule.id != file.stem:
        yield f"{file}: the file must be called {rule.id}.yaml, like the rule"
    for shortcoming in shortcomings(rule):
        yield f"{file}: {shortcoming}"
    yield from missing_kinds(rule, cases)
    for case in cases:
        failure = run_case(rule, case)
        if failure is not None:
            yield failure


def load_cases(file: Path) -> list[Case]:
    """Reads a cases file. Raises RuleError with the line when it is missing or
    wrong.
    """
    try:
        text = read_rule_file(file)
    except RuleError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        cause = "is missing: every rule has cases, the quiet ones first"
        raise RuleError(
            file=str(file),
            line=1,
            field="",
            cause=cause,
        ) from error

    marked = load(text, str(file))
    if not isinstance(marked.data, list) or not marked.data:
        raise marked.error("", "must be a list of cases")
    return [_case(marked, str(index), data) for index, data in enumerate(marked.data)]


def _case(
    marked: Marked,
    path: str,
    data: Any,
) -> Case:
    try:
        case = msgspec.convert(data, Case, strict=False)
    except msgspec.ValidationError as error:
        raise refused(marked, str(error), path) from error
    if case.expect not in _OUTCOMES:
        raise marked.error(f"{path}.expect", f"must be one of {', '.join(_OUTCOMES)}")
    for name in case.metrics:
        if name not in registered_metrics():
            raise marked.error(f"{path}.metrics.{name}", "is not a metric")
    for name in case.facts:
        if name not in registered_facts():
            raise marked.error(f"{path}.facts.{name}", "is not a fact")
    return replace(case, line=marked.lines.get(path, 1))


def run_case(
    rule: Rule,
    case: Case,
    metrics: Metrics | None = None,
) -> str | None:
    """None when the rule does what the case expects, else what it did instead. metrics:
    of the case, if made before.
    """
    given = metrics or metrics_of(case)
    outcome = judge(rule, given)
    got = _outcome_word(outcome)
    where = f"{rule.id}, case {case.name!r} (line {case.line})"
    if got != case.expect:
        why = f" ({outcome.reason})" if isinstance(outcome, NotApplicable) else ""
        return f"{where}: expected {case.expect}, got {got}{why}"
    if not isinstance(outcome, Judged):
        return None
    got = severity(outcome).value
    if case.severity is not None and got != case.severity:
        return f"{where}: expected severity {case.severity}, got {got}"
    return _misspoken(finding_alone(outcome, given), case, where)


def _outcome_word(outcome: Judged | NotApplicable | None) -> str:
    if isinstance(outcome, Judged):
        return "fired"
    return "quiet" if outcome is None else "not-applicable"


def _misspoken(
    finding: Finding,
    case: Case,
    where: str,
) -> str | None:
    text = "\n".join(_texts_of(finding))
    for words in case.says:
        if words not in text:
            return f"{where}: does not say {words!r}"
    for words in case.says_not:
        if words in text:
            return f"{where}: must not say {words!r}"
    return None


def _texts_of(finding: Finding) -> Iterator[str]:
    yield finding.title
    yield finding.summary
    yield finding.ask or ""
    for fix in finding.fixes:
        yield fix.do
        yield fix.snippet
        yield fix.side_effect
        yield from fix.env.values()


def missing_kinds(rule: Rule, cases: list[Case]) -> list[str]:
    """A rule needs a case that stays quiet, before any that fires."""
    if cases[0].expect != "quiet":
        return [f"{rule.id}: the first case must be one that stays quiet"]
    if not any(case.expect == "fired" for case in cases):
        return [f"{rule.id}: no case makes the rule fire"]
    return []


def metrics_of(case: Case) -> Metrics:
    """What the rules see of a case."""
    values: dict[str, Measured] = {}
    for name, metric in registered_metrics().items():
        reason = "" if name in case.metrics else _ABSENT
        values[name] = Measured(
            value=case.metrics.get(name),
            unit=metric.unit,
            reason=reason,
            about=metric.about,
        )
    facts: dict[str, tuple[str | None, str]] = {}
    for name in registered_facts():
        reason = "" if name in case.facts else _ABSENT
        facts[name] = (case.facts.get(name), reason)
    return Metrics(values, facts)
