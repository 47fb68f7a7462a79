"""Findings and a program → one patch a finding, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tfadvisor.act.repair.hits import FaultPlace
from tfadvisor.act.repair.launch_lines import launch_lines
from tfadvisor.act.repair.patch_places import (
    At,
    PatchPlace,
    hits_of,
    narrowed,
    places_of,
)
from tfadvisor.act.repair.sources import Sources
from tfadvisor.act.repair.unified_diff import differ_below
from tfadvisor.advice.codemods import CODEMODS, LAUNCH_LINE, CodemodRef
from tfadvisor.advice.findings import Finding, Fix, Patch
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.report import Report

_MOST_LISTED = 8
Diff = Callable[[str, str, str], str]
"""Of a name, the old and the new text."""


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
    """A finding without a change. candidates: where it could be made, if in several
    places.
    """

    rule_id: str
    why: str
    candidates: tuple[PatchPlace, ...] = ()


class PatchPlan(msgspec.Struct, frozen=True):
    """Changes in the order of the findings, each on top of those before."""

    patched: tuple[Patched, ...]
    unpatched: tuple[Unpatched, ...]
    texts: Mapping[str, str]
    """Files that change, and how they are then."""


def plan_of(
    report: Report,
    codemods: Mapping[str, Sequence[CodemodRef]],
    sources: Sources,
    rules: Sequence[str],
    at: At | None,
) -> PatchPlan:
    """For the report's findings, of these rules where any are given. Raises UsageError
    for a rule that there is not.
    """
    for name in rules:
        if name not in codemods:
            raise UsageError(
                f"--rule {name}: no rule has this id.{did_you_mean(name, codemods)} "
                "`tfadvisor rules list` names them all."
            )

    findings = [finding for finding in report.findings if finding.category != "capture"]
    if rules:
        findings = [finding for finding in findings if finding.rule_id in rules]
    texts = {file.name: file.text for file in sources.files}
    return make_plan(
        findings,
        codemods,
        texts,
        differ_below(sources.root),
        at,
    )


def make_plan(
    findings: Sequence[Finding],
    codemods: Mapping[str, Sequence[CodemodRef]],
    texts: Mapping[str, str],
    diff: Diff,
    at: At | None = None,
) -> PatchPlan:
    """One change a finding, the first codemod of its rule that applies in exactly one
    place.

    codemods: by rule. texts: the program's files.
    """
    now = dict(texts)
    patched: list[Patched] = []
    unpatched: list[Unpatched] = []
    for finding in findings:
        refs = codemods.get(finding.rule_id, ())
        outcome = _for_finding(
            finding,
            refs,
            now,
            diff,
            at,
        )
        if isinstance(outcome, Unpatched):
            unpatched.append(outcome)
            continue
        patched.append(outcome)
        if outcome.text:
            now[outcome.patch.file] = outcome.text

    changed = {}
    for name, text in now.items():
        if text != texts[name]:
            changed[name] = text
    return PatchPlan(tuple(patched), tuple(unpatched), changed)


def _for_finding(
    finding: Finding,
    refs: Sequence[CodemodRef],
    texts: Mapping[str, str],
    diff: Diff,
    at: At | None,
) -> Patched | Unpatched:
    if not refs:
        why = "its fix is no change that a tool can derive from the source"
        return Unpatched(finding.rule_id, why)

    places = places_of(finding, texts)
    asked: tuple[PatchPlace, ...] = ()
    for ref in refs:
        if ref.name == LAUNCH_LINE:
            launched = _launched(finding, ref)
            if launched is not None:
                return launched
            continue
        hits = {}
        for file, text in texts.items():
            hits[file] = hits_of(ref.name, text, places[file])
        candidates = narrowed(hits, places, at)
        if len(candidates) == 1:
            return _patched(
                finding,
                ref,
                candidates[0],
                texts,
                diff,
            )
        asked = asked or tuple(candidates)

    why = "the program shows none of the patterns that its codemods look for"
    if asked:
        why = "could be made in several places; choose one with --at FILE:LINE"
    return Unpatched(finding.rule_id, why, asked)


def _patched(
    finding: Finding,
    ref: CodemodRef,
    chosen: PatchPlace,
    texts: Mapping[str, str],
    diff: Diff,
) -> Patched:
    text, did = chosen.hit.source, [chosen.hit.did]
    effects = [CODEMODS[ref.name].changes]
    for name in ref.then:
        more = hits_of(name, text, FaultPlace())
        if len(more) == 1:
            text = more[0].source
            did.append(more[0].did)
            effects.append(CODEMODS[name].changes)

    changed = diff(
        chosen.file,
        texts[chosen.file],
        text,
    )
    return Patched(
        rule_id=finding.rule_id,
        codemod=ref.name,
        did=", ".join(did),
        line=chosen.hit.first,
        changes="; ".join(filter(None, dict.fromkeys(effects))),
        patch=Patch(chosen.file, changed, ref.sure, ref.check),
        text=text,
    )


def _launched(
    finding: Finding,
    ref: CodemodRef,
) -> Patched | None:
    for fix in finding.fixes:
        lines = launch_lines(fix.env)
        if lines:
            return Patched(
                rule_id=finding.rule_id,
                codemod=ref.name,
                did=fix.do,
                line=0,
                changes=fix.side_effect,
                patch=Patch("", lines, ref.sure, ref.check),
                text="",
            )
    return None


# A plan in words, and in a report.


def plan_words(plan: PatchPlan) -> Iterator[str]:
    """A line a finding: what was done and what it changes, or why there is no patch;
    then a line a place to choose from.
    """
    for patched in plan.patched:
        yield _patched_words(patched)
    for unpatched in plan.unpatched:
        yield from _unpatched_words(unpatched)
    if not plan.patched and not plan.unpatched:
        yield "nothing to patch: the report has no such finding."


def _patched_words(patched: Patched) -> str:
    where = (
        f"{patched.patch.file}:{patched.line}" if patched.text else "the launch script"
    )
    effect = (
        f"changes: {patched.changes}" if patched.changes else "results stay as they are"
    )
    return f"{patched.rule_id}: {where}: {patched.did} ({patched.patch.sure}; {effect})"


def _unpatched_words(unpatched: Unpatched) -> Iterator[str]:
    end = ":" if unpatched.candidates else "."
    yield f"{unpatched.rule_id}: no patch: {unpatched.why}{end}"
    for candidate in unpatched.candidates[:_MOST_LISTED]:
        yield f"    {candidate}"
    others = len(unpatched.candidates) - _MOST_LISTED
    if others > 0:
        yield f"    and {others} more; --source train.py looks at one program alone"


def with_patches(report: Report, plan: PatchPlan) -> Report:
    """The report with each patch in the fix that it makes: the first of its kind."""
    made = {patched.rule_id: patched for patched in plan.patched}
    findings = []
    for finding in report.findings:
        findings.append(_filled(finding, made.get(finding.rule_id)))
    return replace(report, findings=tuple(findings))


def _filled(
    finding: Finding,
    made: Patched | None,
) -> Finding:
    if made is None:
        return finding

    fitting = [fix for fix in finding.fixes if _fits(fix, made)]
    target = (fitting or list(finding.fixes))[0]
    fixes = [
        replace(fix, patch=made.patch) if fix is target else fix
        for fix in finding.fixes
    ]
    return replace(finding, fixes=tuple(fixes))


def _fits(fix: Fix, made: Patched) -> bool:
    """Whether a patch may be what a fix asks for."""
    return fix.kind == "code" if made.text else bool(fix.env)
