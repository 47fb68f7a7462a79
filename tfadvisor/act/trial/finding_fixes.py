"""The findings' own fixes as candidates: each codemod of a rule that applies in one
place, and its variables and flags.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tfadvisor.act.repair.plan import Patched, make_plan
from tfadvisor.act.repair.sources import Sources
from tfadvisor.act.repair.unified_diff import unified
from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.trial_result import Share
from tfadvisor.advice.codemods import LAUNCH_LINE, CodemodRef
from tfadvisor.advice.findings import Finding, Fix
from tfadvisor.report import Report, advice

_PLACEHOLDERS = ("/path/to/", "{")
"""What a fix writes for what only the user knows."""


def from_findings(
    report: Report,
    codemods: Mapping[str, Sequence[CodemodRef]],
    sources: Sources,
    rules: Sequence[str],
) -> Iterator[Candidate]:
    """In the order of the findings. codemods: by rule. rules: the wanted ones, none for
    all.
    """
    for finding in advice(report):
        if not rules or finding.rule_id in rules:
            yield from _patches(finding, codemods.get(finding.rule_id, ()), sources)
            yield from settings_of(finding)


def _patches(
    finding: Finding,
    refs: Sequence[CodemodRef],
    sources: Sources,
) -> Iterator[Candidate]:
    """One for each text that the finding's codemods make."""
    paths = {file.name: str(file.path) for file in sources.files}
    texts = {file.name: file.text for file in sources.files}
    seen: set[str] = set()
    for ref in refs:
        if ref.name == LAUNCH_LINE:
            continue
        plan = make_plan(
            [finding],
            {finding.rule_id: [ref]},
            texts,
            unified,
        )
        for made in plan.patched:
            if made.text not in seen:
                yield _candidate(
                    finding,
                    made,
                    paths,
                    first=not seen,
                )
                seen.add(made.text)


def _candidate(
    finding: Finding,
    made: Patched,
    paths: Mapping[str, str],
    *,
    first: bool,
) -> Candidate:
    return Candidate(
        name=finding.rule_id if first else f"{finding.rule_id}:{made.codemod}",
        texts={paths[made.patch.file]: made.text},
        rule_id=finding.rule_id,
        category=finding.category,
        change=made.codemod,
        promise=_promise(finding),
        check=made.patch.check,
        effect=made.changes,
    )


def settings_of(finding: Finding) -> Iterator[Candidate]:
    """Variables and flags of a finding that can be given as they are, as candidates."""
    for fix in finding.fixes:
        if fix.env and not _asks_the_user(fix):
            written = " ".join(f"{name}={value}" for name, value in fix.env.items())
            yield Candidate(
                name=f"{finding.rule_id}: {written}",
                env=dict(fix.env),
                rule_id=finding.rule_id,
                category=finding.category,
                change="env",
                promise=_promise(finding),
                effect=fix.side_effect,
            )


def _asks_the_user(fix: Fix) -> bool:
    """Whether a value holds what only the user knows."""
    values = " ".join(fix.env.values())
    return any(placeholder in values for placeholder in _PLACEHOLDERS)


def _promise(finding: Finding) -> Share | None:
    saving = finding.saving
    return None if saving is None else Share(saving.low, saving.high)
