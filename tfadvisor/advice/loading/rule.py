"""A rule as data: what it looks at, when it fires, what it says and what to change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec

from tfadvisor.advice.codemods import (
    CHECKS,
    CODEMODS,
    LAUNCH_LINE,
    NEVER_MECHANICAL,
    SURE,
    CodemodRef,
)
from tfadvisor.advice.findings import SourceRef
from tfadvisor.advice.judging.conditions import Condition, parse_condition
from tfadvisor.advice.loading.yaml_marks import Marked
from tfadvisor.errors import RuleError
from tfadvisor.vocabulary import CATEGORIES, TIME_CLASSES, Severity

FIX_KINDS = ("code", "env", "flag", "config", "command")
TIERS = ("stable", "preview")
"""A preview rule is off unless it is asked for, and no verdict rests on it."""
PROOFS = ("shown", "documented", "likely")
"""What a rule's finding rests on: the trace shows it; a vendor's guide describes it,
and no recording has shown it yet; or it is only likely, and asks the user.
"""
_Text = Annotated[str, msgspec.Meta(pattern=r"\S")]
_ID = re.compile(r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")


class SavingRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """metric: share of step time that could be saved at most; low and high: factors on
    it. basis: why that range.

    of: the classes of the breakdown that it comes from, empty for those of the rule's
    category. whole: share of step time that the whole fault takes, for a replay, where
    `metric` only shows that it is there; empty where that is all of it. reach: share of
    the step's work that the fault is about, for a replay; empty where it is about all.
    """

    metric: _Text
    low: float
    high: float
    basis: _Text
    of: tuple[str, ...] = ()
    whole: str = ""
    reach: str = ""


class FixRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One edit. cures: the cause that it ends, in a few words. before: lines of a
    program that has this cause; snippet: the same after the edit.

    needs: what must be shown before it is printed, None for nothing. never: what
    forbids it where it is shown, None for nothing.
    """

    kind: str
    cures: str = ""
    do: _Text
    before: str = ""
    snippet: str = ""
    env: Mapping[str, str] = {}
    valid_for: _Text
    side_effect: str = ""
    needs: Condition | None = None
    never: Condition | None = None


class Cap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finding is no more severe than this, whatever it may save. when: only if it
    holds, None for always.
    """

    severity: Severity
    when: Condition | None = None


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule file. severity: fixed, or None when the saving decides. at_most: what
    bounds it then.

    every_call: what it is about happens inside the compiled step, so that one step
    tells that each has it. codemods: what `tfadvisor fix` tries on the user's program,
    in this order. tier, proof: one of TIERS, of PROOFS. ask: of a likely rule, what the
    user can answer in one look. takes: the metric that says which share of step time
    the finding is about, empty for that of the saving. only_without_samples: where the
    whole run was watched, that tells the same better. last_resort: it asks where
    no other finding names a change of half its size. confirmed: traces on which it
    fires from file to finding, and independent recordings on which it fired rightly.
    """

    id: str
    file: str
    category: str
    title: _Text
    why: _Text
    when: Condition
    summary: _Text
    evidence: tuple[str, ...]
    severity: Severity | None = None
    saving: SavingRule | None = None
    fixes: tuple[FixRule, ...]
    locations: tuple[str, ...] = ()
    source: tuple[SourceRef, ...]
    every_call: bool = False
    codemods: tuple[CodemodRef, ...] = ()
    at_most: Cap | None = None
    tier: str = "stable"
    proof: str = "shown"
    ask: str = ""
    takes: str = ""
    only_without_samples: bool = False
    last_resort: bool = False
    confirmed: tuple[str, ...] = ()

    @property
    def is_preview(self) -> bool:
        """Whether it is off unless asked for."""
        return self.tier == "preview"

    @property
    def is_likely(self) -> bool:
        """Whether its finding is a question to the user."""
        return self.proof == "likely"

    @property
    def is_documented(self) -> bool:
        """Whether a guide alone stands behind it: then it is at most medium and
        promises no saving.
        """
        return self.proof == "documented"


def parse_rule(marked: Marked) -> Rule:
    """Checks every field. Raises RuleError with the line of the first that is wrong."""
    data = _trimmed(marked.data)
    if not isinstance(data, dict):
        raise marked.error("", "must be a mapping of fields")
    if "file" in data:
        raise marked.error("file", "is not a field here")
    for path, holder, field in _conditions_in(data):
        condition = parse_condition(marked, f"{path}{field}", holder[field])
        holder[field] = msgspec.to_builtins(condition)
    try:
        rule = msgspec.convert({**data, "file": marked.file}, Rule)
    except msgspec.ValidationError as error:
        raise refused(marked, str(error)) from error
    for field, cause in _mistakes(rule):
        raise marked.error(field, cause)
    return rule


def _trimmed(data: Any) -> Any:
    """Without the line ends around texts that YAML's blocks bring."""
    if isinstance(data, dict):
        return {name: _trimmed(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_trimmed(value) for value in data]
    return data.strip("\n") if isinstance(data, str) else data


_CONDITIONS = ("when", "needs", "never")


def _conditions_in(
    data: dict[str, Any],
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(path, mapping, field) of each condition in a rule."""
    fixes = data.get("fixes")
    parts = [("", data), ("at_most.", data.get("at_most"))]
    for index, fix in enumerate(fixes if isinstance(fixes, list) else []):
        parts.append((f"fixes.{index}.", fix))
    for path, part in parts:
        if not isinstance(part, dict):
            continue
        for field in _CONDITIONS:
            if field in part:
                yield path, part, field


_YAML_NAMES = {
    "array": "a list",
    "object": "a mapping",
    "str": "text",
    "bool": "true or false",
}
"""Of types as msgspec's messages have them."""


def refused(
    marked: Marked,
    message: str,
    below: str = "",
) -> RuleError:
    """msgspec's message at the line of its field: `Object missing required field `do` -
    at `$.fixes[0]``. below: of what.
    """
    cause, _, place = message.partition(" - at `$")
    dotted = re.sub(r"\[(\d+)\]", r".\1", place.rstrip("`")).replace("[...]", "")
    path = f"{below}{dotted}".strip(".")
    named = re.search(r"(unknown|missing required) field `(.*)`", cause)
    if named is not None:
        cause = "is missing" if named[1] != "unknown" else "is not a field here"
        path = f"{path}.{named[2]}".strip(".")
    for name, word in _YAML_NAMES.items():
        cause = cause.replace(f"`{name}`", word)
    return marked.error(path, cause)


def _mistakes(rule: Rule) -> Iterator[tuple[str, str]]:
    """(field, what is wrong with it), as far as its type does not tell."""
    if not _ID.match(rule.id):
        yield (
            "id",
            f"{rule.id!r} is not a rule id: use lower-case words joined by hyphens, "
            "named for the fault",
        )
    for field, value, options in _choices(rule):
        if value not in options:
            yield field, f"{value!r} is not one of {', '.join(options)}"
    if not rule.fixes:
        yield "fixes", "a rule without a fix prescribes nothing"
    yield from _mistakes_of_proof(rule)
    yield from _mistakes_of_weight(rule)
    for index, codemod in enumerate(rule.codemods):
        for field, cause in _mistakes_of_codemod(codemod, rule.fixes):
            yield f"codemods.{index}.{field}", cause


def _choices(rule: Rule) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(field, its value, what it may be)."""
    yield "category", rule.category, tuple(CATEGORIES)
    yield "tier", rule.tier, TIERS
    yield "proof", rule.proof, PROOFS
    for index, fix in enumerate(rule.fixes):
        yield f"fixes.{index}.kind", fix.kind, FIX_KINDS


_MOST_SEVERE = {"documented": Severity.MEDIUM, "likely": Severity.LOW}
"""By proof; what the trace shows may be as severe as it is."""


def _mistakes_of_proof(rule: Rule) -> Iterator[tuple[str, str]]:
    """Of what a finding rests on, and of what follows from that."""
    if rule.is_likely != bool(rule.ask):
        yield (
            "ask",
            "is the question that a rule with `proof: likely` puts to the user, and "
            "no other rule has one",
        )
    if rule.is_documented and not rule.source:
        yield "source", "names the guide that stands behind `proof: documented`"
    most = _MOST_SEVERE.get(rule.proof)
    if most and rule.severity is not None and rule.severity.rank > most.rank:
        yield "severity", f"is at most {most.value} where `proof` is {rule.proof}"


def _mistakes_of_weight(rule: Rule) -> Iterator[tuple[str, str]]:
    """Of what decides how severe a finding is."""
    saving = rule.saving
    if (rule.severity is None) == (saving is None):
        yield (
            "severity",
            "a rule needs either a saving, which decides its severity, or a fixed "
            "severity",
        )
    if saving is None:
        if rule.at_most is not None:
            yield (
                "at_most.severity",
                "bounds what a saving decides, and this rule's severity is fixed",
            )
        return
    if not 0 <= saving.low <= saving.high <= 1:
        yield (
            "saving.low",
            "must lie between 0 and `high`, and `high` must not exceed 1",
        )
    if not set(saving.of) <= set(TIME_CLASSES):
        yield "saving.of", f"names classes of the breakdown: {', '.join(TIME_CLASSES)}"


def _mistakes_of_codemod(
    codemod: CodemodRef, fixes: tuple[FixRule, ...]
) -> Iterator[tuple[str, str]]:
    chosen = (
        ("name", codemod.name, CODEMODS),
        ("sure", codemod.sure, SURE),
        ("check", codemod.check, CHECKS),
    )
    for field, value, options in chosen:
        if value not in options:
            yield field, f"{value!r} is not one of {', '.join(options)}"
    for name in codemod.then:
        if name not in CODEMODS or name == LAUNCH_LINE:
            known = ", ".join(CODEMODS)
            yield "then", f"no codemod is called {name!r}; known are {known}"
    if codemod.name == LAUNCH_LINE and not any(fix.env for fix in fixes):
        yield "name", "no fix of this rule sets a variable"
    is_mechanical = codemod.sure == "mechanical"
    if is_mechanical and NEVER_MECHANICAL & {codemod.name, *codemod.then}:
        yield "sure", f"{codemod.name} is a guess wherever it applies"
