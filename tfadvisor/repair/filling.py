"""Patches put into the fixes of a report."""

from __future__ import annotations

from msgspec.structs import replace

from tfadvisor.repair.plan import Patched, Plan
from tfadvisor.report.model import Finding, Fix, Report


def with_patches(report: Report, plan: Plan) -> Report:
    """The report in which each patch stands in the fix that it makes: the first of its kind."""
    made = {one.rule_id: one for one in plan.patched}
    return replace(report, findings=tuple(_filled(one, made.get(one.rule_id)) for one in report.findings))


def _filled(finding: Finding, made: Patched | None) -> Finding:
    if made is None:
        return finding
    fitting = [fix for fix in finding.fixes if (fix.env if not made.text else fix.kind == "code")]
    target = (fitting or list(finding.fixes))[0]
    return replace(finding, fixes=tuple(_with(fix, made) if fix is target else fix for fix in finding.fixes))


def _with(fix: Fix, made: Patched) -> Fix:
    return replace(fix, patch=made.patch)
