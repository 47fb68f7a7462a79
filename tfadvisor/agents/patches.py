"""Patches for a report's findings, as text: the diff, then a line a finding. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.report.model import Report

if TYPE_CHECKING:
    from tfadvisor.repair.choosing import At
    from tfadvisor.repair.plan import Plan


def patches(report: Report, source: Path, rule: str | None, at: str | None) -> str:
    """What `tfadvisor fix` prints. Raises UsageError for a rule or place that is none, and without LibCST."""
    from tfadvisor.engine.loading.catalogue import load_catalogue
    from tfadvisor.repair.diff import differ_below
    from tfadvisor.repair.plan import make_plan
    from tfadvisor.repair.sources import read_sources

    codemods = {one.id: one.codemods for one in load_catalogue(preview=True).rules}
    if rule is not None and rule not in codemods:
        raise UsageError(f"no rule is called {rule}.{did_you_mean(rule, codemods)}")
    findings = [one for one in report.findings if one.category != "capture" and rule in (None, one.rule_id)]
    sources = read_sources(source)
    texts = {one.name: one.text for one in sources.files}
    plan = make_plan(findings, codemods, texts, differ_below(sources.root), _place(at))
    left_alone = [f"{one.name} is left alone: {one.why}" for one in sources.left_alone]
    return "\n".join([*_diffs(plan), *_told(plan), *left_alone]) + "\n"


def _place(at: str | None) -> At | None:
    from tfadvisor.repair.choosing import At

    if at is None:
        return None
    file, _, line = at.rpartition(":")
    if not file or not line.isdecimal():
        raise UsageError(f"{at}: give a file and a line of it, as train.py:41.")
    return At(file, int(line))


def _diffs(plan: Plan) -> Iterator[str]:
    for one in plan.patched:
        head = "" if one.text else f"# {one.rule_id}: before the line that launches the program\n"
        yield head + one.patch.diff.rstrip("\n")


def _told(plan: Plan) -> Iterator[str]:
    if plan.patched:
        yield ""
    for one in plan.patched:
        where = f"{one.patch.file}:{one.line}" if one.text else "the launch script"
        effect = f"changes: {one.changes}" if one.changes else "results stay as they are"
        yield f"{one.rule_id}: {where}: {one.did} ({one.patch.sure}; {effect})"
    for other in plan.unpatched:
        places = "".join(f"\n  {candidate}" for candidate in other.candidates)
        yield f"{other.rule_id}: no patch: {other.why}{':' if places else '.'}{places}"
    if not plan.patched and not plan.unpatched:
        yield "nothing to patch: the report has no such finding."
