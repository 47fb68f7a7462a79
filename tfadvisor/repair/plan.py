"""Findings and a program → one patch a finding, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import msgspec

from tfadvisor.repair.choosing import At, Candidate, narrowed, places_of
from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.launch_lines import launch_lines
from tfadvisor.repair.registry import CODEMODS, load
from tfadvisor.report.codemods import LAUNCH_LINE, CodemodRef
from tfadvisor.report.model import Finding, Patch

Hits = Callable[[str, str, Place], Sequence[Hit]]
"""From a codemod's name, a program's text and a place."""


class Patched(msgspec.Struct, frozen=True):
    """A finding's change."""

    rule_id: str
    codemod: str
    did: str
    """In words."""
    line: int
    """Of the file before this change, from 1; 0 for lines of the launch script."""
    changes: str
    """What the program's results lose or gain, "" for nothing."""
    patch: Patch
    text: str
    """The whole file after it, "" for lines of the launch script."""


class Unpatched(msgspec.Struct, frozen=True):
    """A finding without a change. candidates: where it could be made, if in several places."""

    rule_id: str
    why: str
    candidates: tuple[Candidate, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """Changes in the order of the findings, each on top of those before."""

    patched: tuple[Patched, ...]
    unpatched: tuple[Unpatched, ...]
    texts: Mapping[str, str]
    """Files that change, and how they are then."""


def make_plan(
    findings: Sequence[Finding],
    codemods: Mapping[str, Sequence[CodemodRef]],
    texts: Mapping[str, str],
    diff: Callable[[str, str, str], str],
    at: At | None = None,
) -> Plan:
    """One change a finding, the first codemod of its rule that applies in exactly one place.

    codemods: by rule. texts: the program's files. diff: of a name, the old and the new text. Raises UsageError without LibCST.
    """
    now = dict(texts)
    patched: list[Patched] = []
    unpatched: list[Unpatched] = []
    for finding in findings:
        outcome = _for_finding(finding, codemods.get(finding.rule_id, ()), now, diff, at)
        if isinstance(outcome, Unpatched):
            unpatched.append(outcome)
            continue
        patched.append(outcome)
        if outcome.text:
            now[outcome.patch.file] = outcome.text
    return Plan(tuple(patched), tuple(unpatched), {name: text for name, text in now.items() if text != texts[name]})


def _for_finding(
    finding: Finding,
    refs: Sequence[CodemodRef],
    texts: Mapping[str, str],
    diff: Callable[[str, str, str], str],
    at: At | None,
) -> Patched | Unpatched:
    if not refs:
        return Unpatched(finding.rule_id, "its fix is no change that a tool can derive from the source")
    places = places_of(finding, texts)
    asked: tuple[Candidate, ...] = ()
    for ref in refs:
        if ref.name == LAUNCH_LINE:
            launched = _launched(finding, ref)
            if launched is not None:
                return launched
            continue
        found = {file: hits_of(ref.name, text, places[file]) for file, text in texts.items()}
        candidates = narrowed(found, places, at)
        if len(candidates) == 1:
            return _patched(finding, ref, candidates[0], texts, diff)
        asked = asked or tuple(candidates)
    if asked:
        return Unpatched(finding.rule_id, "could be made in several places; choose one with --at FILE:LINE", asked)
    return Unpatched(finding.rule_id, "the program shows none of the patterns that its codemods look for")


def _patched(
    finding: Finding, ref: CodemodRef, chosen: Candidate, texts: Mapping[str, str], diff: Callable[[str, str, str], str]
) -> Patched:
    text, did, effects = chosen.hit.source, [chosen.hit.did], [CODEMODS[ref.name].changes]
    for name in ref.then:
        more = hits_of(name, text, Place())
        if len(more) == 1:
            text = more[0].source
            did.append(more[0].did)
            effects.append(CODEMODS[name].changes)
    patch = Patch(chosen.file, diff(chosen.file, texts[chosen.file], text), ref.sure, ref.check)
    changes = "; ".join(one for one in dict.fromkeys(effects) if one)
    return Patched(finding.rule_id, ref.name, ", ".join(did), chosen.hit.first, changes, patch, text)


def _launched(finding: Finding, ref: CodemodRef) -> Patched | None:
    for fix in finding.fixes:
        lines = launch_lines(fix.env)
        if lines:
            patch = Patch("", lines, ref.sure, ref.check)
            return Patched(finding.rule_id, ref.name, fix.do, 0, fix.side_effect, patch, "")
    return None


@lru_cache(maxsize=256)
def hits_of(codemod: str, text: str, place: Place) -> tuple[Hit, ...]:
    """Where a codemod applies; nowhere in a text that LibCST cannot parse, whose result Python cannot, or where it applies so
    often that the programs after each change together are too long to make.
    """
    hits = load(codemod)
    from libcst import ParserSyntaxError  # an extra, asked for by `load`

    from tfadvisor.repair.reading.program import TooManyChanges, program_of

    try:
        found = hits(program_of(text), place)
    except (ParserSyntaxError, RecursionError, TooManyChanges):
        return ()
    return tuple(one for one in found if one.source != text and _compiles(one.source))


def _compiles(text: str) -> bool:
    try:
        compile(text, "patched", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True
