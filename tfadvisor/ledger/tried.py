"""A report of a program whose fixes were tried before: its findings say what came of them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET
from msgspec.structs import replace

from tfadvisor.ledger.entries import BETTER, Entry
from tfadvisor.ledger.sketch import alike, sketch_of
from tfadvisor.report.model import Finding, Report, Tried


def with_tried(report: Report, entries: Sequence[Entry]) -> Report:
    """entries: of any programs, the oldest first. The same report where none is about this program."""
    sketch = sketch_of(report)
    about = [one for one in entries if one.rule and one.saving and one.predicted and alike(one.program, sketch)]
    if not about:
        return report
    return replace(report, findings=tuple(_told(one, about) for one in report.findings))


def _told(finding: Finding, about: Sequence[Entry]) -> Finding:
    """The newest trial of the rule counts, and of it the change that gained most."""
    of_rule = [one for one in about if one.rule == finding.rule_id]
    if not of_rule:
        return finding
    newest = [one for one in of_rule if one.trial == of_rule[-1].trial]
    best = min(newest, key=lambda one: one.ratio or 0.0)
    saving, predicted = best.saving, best.predicted
    assert saving is not None and predicted is not None
    tried = Tried(*saving, *predicted, best.outcome, best.change, best.at, best.device)
    if best.outcome != BETTER:
        return replace(finding, tried=tried)
    return replace(finding, tried=tried, proof="measured", ask=UNSET)
