"""A rule as data: what it looks at, when it fires, what it says and what to change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from tfadvisor.advice.codemods import CHECKS, CODEMODS, LAUNCH_LINE, NEVER_MECHANICAL, SURE, CodemodRef
from tfadvisor.advice.findings import SourceRef
from tfadvisor.advice.judging.conditions import Condition, parse_condition
from tfadvisor.advice.loading.yaml_marks import Marked
from tfadvisor.vocabulary import CATEGORIES, TIME_CLASSES, Severity

FIX_KINDS = ("code", "env", "flag", "config", "command")
TIERS = ("stable", "preview")
"""A preview rule is off unless it is asked for, and no verdict rests on it."""
PROOFS = ("shown", "likely")
"""Whether a rule's finding is shown by the trace, or only likely: then it asks the user."""
_ID = re.compile(r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")


class SavingRule(msgspec.Struct, frozen=True):
    """metric: share of step time that could be saved at most; low and high: factors on it. basis: why that range.

    of: the classes of the breakdown that it comes from, empty for those of the rule's category. whole: share of step time
    that the whole fault takes, for a replay, where `metric` only shows that it is there; empty where that is all of it.
    reach: share of the step's work that the fault is about, for a replay; empty where it is about all.
    """

    metric: str
    low: float
    high: float
    basis: str
    of: tuple[str, ...] = ()
    whole: str = ""
    reach: str = ""


class FixRule(msgspec.Struct, frozen=True):
    """One edit. when: only shown if it holds, None for always."""

    kind: str
    do: str
    snippet: str
    env: Mapping[str, str]
    valid_for: str
    side_effect: str
    when: Condition | None


class Cap(msgspec.Struct, frozen=True):
    """A finding is no more severe than this, whatever it may save. when: only if it holds, None for always."""

    severity: Severity
    when: Condition | None


class Rule(msgspec.Struct, frozen=True):
    """One rule file. severity: fixed, or None when the saving decides. at_most: what bounds it then.

    every_call: what it is about happens inside the compiled step, so that one step tells that each has it.
    codemods: what `tfadvisor fix` tries on the user's program, in this order.
    tier, proof: one of TIERS, of PROOFS. ask: of a likely rule, what the user can answer in one look.
    takes: the metric that says which share of step time the finding is about, empty for that of the saving.
    confirmed: traces on which it fires from file to finding, and independent recordings on which it fired rightly.
    """

    id: str
    file: str
    category: str
    title: str
    why: str
    when: Condition
    summary: str
    evidence: tuple[str, ...]
    severity: Severity | None
    saving: SavingRule | None
    fixes: tuple[FixRule, ...]
    locations: tuple[str, ...]
    source: tuple[SourceRef, ...]
    every_call: bool = False
    codemods: tuple[CodemodRef, ...] = ()
    at_most: Cap | None = None
    tier: str = "stable"
    proof: str = "shown"
    ask: str = ""
    takes: str = ""
    confirmed: tuple[str, ...] = ()

    @property
    def is_preview(self) -> bool:
        """Whether it is off unless asked for."""
        return self.tier == "preview"

    @property
    def is_likely(self) -> bool:
        """Whether its finding is a question to the user."""
        return self.proof == "likely"


def parse_rule(marked: Marked) -> Rule:
    """Checks every field. Raises RuleError with the line of the first that is wrong."""
    fields = _Fields(marked, "", marked.data)
    fields.only(
        "id",
        "category",
        "title",
        "why",
        "when",
        "summary",
        "evidence",
        "severity",
        "at_most",
        "saving",
        "fixes",
        "codemods",
        "locations",
        "source",
        "every_call",
        "tier",
        "proof",
        "ask",
        "takes",
        "confirmed",
    )
    rule_id = fields.text("id")
    if not _ID.match(rule_id):
        raise marked.error(
            "id", f"{rule_id!r} is not a rule id: use lower-case words joined by hyphens, named for the fault"
        )
    category = fields.choice("category", tuple(CATEGORIES))
    severity = None
    if fields.has("severity"):
        severity = Severity(fields.choice("severity", tuple(one.value for one in Severity)))
    saving = _saving(fields.below("saving")) if fields.has("saving") else None
    if (severity is None) == (saving is None):
        raise marked.error("severity", "a rule needs either a saving, which decides its severity, or a fixed severity")
    fixes = tuple(_fix(one) for one in fields.items("fixes"))
    if not fixes:
        raise marked.error("fixes", "a rule without a fix prescribes nothing")
    proof = fields.choice("proof", PROOFS) if fields.has("proof") else "shown"
    if (proof == "likely") != fields.has("ask"):
        raise marked.error(
            "ask", "is the question that a rule with `proof: likely` puts to the user, and no other rule has one"
        )
    if proof == "likely" and severity is not None and severity.rank > Severity.LOW.rank:
        raise marked.error("severity", "is at most low where `proof` is likely")
    return Rule(
        id=rule_id,
        file=marked.file,
        category=category,
        title=fields.text("title"),
        why=fields.text("why"),
        when=parse_condition(marked, "when", fields.value("when")),
        summary=fields.text("summary"),
        evidence=fields.texts("evidence"),
        severity=severity,
        saving=saving,
        fixes=fixes,
        locations=fields.texts("locations") if fields.has("locations") else (),
        source=tuple(_source(one) for one in fields.items("source")),
        every_call=fields.flag("every_call") if fields.has("every_call") else False,
        codemods=_codemods(fields, fixes) if fields.has("codemods") else (),
        at_most=_cap(fields.below("at_most"), saving) if fields.has("at_most") else None,
        tier=fields.choice("tier", TIERS) if fields.has("tier") else "stable",
        proof=proof,
        ask=fields.text("ask") if fields.has("ask") else "",
        takes=fields.text("takes") if fields.has("takes") else "",
        confirmed=fields.texts("confirmed") if fields.has("confirmed") else (),
    )


def _cap(fields: _Fields, saving: SavingRule | None) -> Cap:
    fields.only("severity", "when")
    if saving is None:
        raise fields.error("severity", "bounds what a saving decides, and this rule's severity is fixed")
    severity = Severity(fields.choice("severity", tuple(one.value for one in Severity)))
    return Cap(severity, fields.condition("when"))


def _saving(fields: _Fields) -> SavingRule:
    fields.only("metric", "low", "high", "basis", "of", "whole", "reach")
    low, high = fields.number("low"), fields.number("high")
    if not 0 <= low <= high <= 1:
        raise fields.error("low", "must lie between 0 and `high`, and `high` must not exceed 1")
    of = fields.texts("of") if fields.has("of") else ()
    if any(name not in TIME_CLASSES for name in of):
        raise fields.error("of", f"names classes of the breakdown: {', '.join(TIME_CLASSES)}")
    whole = fields.text("whole") if fields.has("whole") else ""
    reach = fields.text("reach") if fields.has("reach") else ""
    return SavingRule(fields.text("metric"), low, high, fields.text("basis"), of, whole, reach)


def _fix(fields: _Fields) -> FixRule:
    fields.only("kind", "do", "snippet", "env", "valid_for", "side_effect", "when")
    env = fields.value("env") if fields.has("env") else {}
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise fields.error("env", "must map variable names to quoted strings")
    return FixRule(
        kind=fields.choice("kind", FIX_KINDS),
        do=fields.text("do"),
        snippet=fields.text("snippet") if fields.has("snippet") else "",
        env=env,
        valid_for=fields.text("valid_for"),
        side_effect=fields.text("side_effect") if fields.has("side_effect") else "",
        when=fields.condition("when"),
    )


def _codemods(fields: _Fields, fixes: tuple[FixRule, ...]) -> tuple[CodemodRef, ...]:
    found = []
    for one in fields.items("codemods"):
        one.only("name", "sure", "check", "then")
        then = one.texts("then") if one.has("then") else ()
        for name in then:
            if name not in CODEMODS or name == LAUNCH_LINE:
                raise one.error("then", f"no codemod is called {name!r}; known are {', '.join(CODEMODS)}")
        name = one.choice("name", CODEMODS)
        if name == LAUNCH_LINE and not any(fix.env for fix in fixes):
            raise one.error("name", "no fix of this rule sets a variable")
        sure = one.choice("sure", SURE)
        if sure == "mechanical" and NEVER_MECHANICAL & {name, *then}:
            raise one.error("sure", f"{name} is a guess wherever it applies")
        found.append(CodemodRef(name, sure, one.choice("check", CHECKS), then))
    return tuple(found)


def _source(fields: _Fields) -> SourceRef:
    fields.only("doc", "section", "url")
    return SourceRef(fields.text("doc"), fields.text("section"), fields.text("url"))


class _Fields:
    """One mapping of a rule file, read field by field with errors that point at the line."""

    def __init__(self, marked: Marked, path: str, data: Any) -> None:
        if not isinstance(data, dict):
            raise marked.error(path, "must be a mapping of fields")
        self.marked, self._path, self._data = marked, path, data

    def path(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def error(self, name: str, cause: str) -> Exception:
        return self.marked.error(self.path(name), cause)

    def condition(self, name: str) -> Condition | None:
        """None where the field is not there."""
        return parse_condition(self.marked, self.path(name), self.value(name)) if self.has(name) else None

    def has(self, name: str) -> bool:
        return name in self._data

    def only(self, *known: str) -> None:
        for name in self._data:
            if name not in known:
                raise self.error(name, f"is not a field here; known are {', '.join(known)}")

    def value(self, name: str) -> Any:
        if name not in self._data:
            raise self.error(name, "is missing")
        return self._data[name]

    def text(self, name: str) -> str:
        value = self.value(name)
        if not isinstance(value, str) or not value.strip():
            raise self.error(name, "must be text")
        return value.strip("\n")

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.value(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(name, "must be a list of names")
        return tuple(value)

    def number(self, name: str) -> float:
        value = self.value(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(name, "must be a number")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self.value(name)
        if not isinstance(value, bool):
            raise self.error(name, "must be true or false")
        return value

    def choice(self, name: str, options: tuple[str, ...]) -> str:
        value = self.text(name)
        if value not in options:
            raise self.error(name, f"{value!r} is not one of {', '.join(options)}")
        return value

    def below(self, name: str) -> _Fields:
        return _Fields(self.marked, self.path(name), self.value(name))

    def items(self, name: str) -> list[_Fields]:
        value = self.value(name)
        if not isinstance(value, list):
            raise self.error(name, "must be a list")
        return [_Fields(self.marked, f"{self.path(name)}.{index}", item) for index, item in enumerate(value)]
