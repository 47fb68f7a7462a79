"""The findings' own fixes as candidates: each codemod of a rule that applies in one place, and its variables and flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tfadvisor.repair.diff import unified
from tfadvisor.repair.plan import Patched, make_plan
from tfadvisor.repair.sources import Sources
from tfadvisor.report.codemods import LAUNCH_LINE, CodemodRef
from tfadvisor.report.model import Finding, Report
from tfadvisor.report.wording import advice
from tfadvisor.trial.candidates.candidate import Candidate, Promise

_PLACEHOLDERS = ("/path/to/", "{")
"""What a fix writes for what only the user knows."""


def from_findings(
    report: Report, codemods: Mapping[str, Sequence[CodemodRef]], sources: Sources, rules: Sequence[str]
) -> Iterator[Candidate]:
    """In the order of the findings. codemods: by rule. rules: the wanted ones, none for all. Raises UsageError without LibCST."""
    paths = {one.name: str(one.path) for one in sources.files}
    texts = {one.name: one.text for one in sources.files}
    for finding in advice(report):
        if rules and finding.rule_id not in rules:
            continue
        seen: set[str] = set()
        for ref in codemods.get(finding.rule_id, ()):
            if ref.name == LAUNCH_LINE:
                continue
            for made in make_plan([finding], {finding.rule_id: [ref]}, texts, unified).patched:
                if made.text not in seen:
                    seen.add(made.text)
                    yield _candidate(finding, made, paths, first=len(seen) == 1)
        yield from _settings(finding)


def _candidate(finding: Finding, made: Patched, paths: Mapping[str, str], *, first: bool) -> Candidate:
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


def _settings(finding: Finding) -> Iterator[Candidate]:
    """Variables and flags that can be given as they are."""
    for fix in finding.fixes:
        if fix.env and not any(one in value for value in fix.env.values() for one in _PLACEHOLDERS):
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


def _promise(finding: Finding) -> Promise | None:
    return Promise(finding.saving.low, finding.saving.high) if finding.saving is not None else None
