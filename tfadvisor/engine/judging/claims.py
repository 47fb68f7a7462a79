"""Findings share out the step's time: what one of them could save, those behind it cannot save again.

Every rule's saving comes out of some classes of the step's breakdown. The findings draw on them in their order, each at
most what is left; so their savings add up to no more than the step holds of each class.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tfadvisor.engine.loading.rule import Rule
from tfadvisor.metrics.registry import Metrics
from tfadvisor.report.model import Finding, NotApplicable, Saving

SHARES = {
    "compute": "compute_fraction",
    "collective": "exposed_collective_fraction",
    "transfer": "transfer_fraction",
    "compile": "compile_fraction",
    "input": "input_bound_fraction",
    "launch": "kernel_launch_gap_fraction",
    "host": "host_fraction",
    "idle": "idle_fraction",
}
"""Class of the breakdown -> the metric that is its share of step time."""
_WAITING = ("idle", "launch", "host", "input")
_OF_CATEGORY = {
    "imbalance": ("collective", *_WAITING, "compute"),
    "memory": ("launch", "host", "idle"),
    "placement": ("launch", "host", "idle", "transfer"),
    **dict.fromkeys(("precision", "kernel", "compute"), ("compute",)),
    **dict.fromkeys(("capture", "flags"), tuple(SHARES)),
}
_TOLERANCE = 1e-9
_NOTHING = 0.01
"""A finding of whose saving less than this share of step time is left says nothing that those above it do not."""
LESS_IS_LEFT = "Findings above save part of the same time; this is what they leave."


def classes_of(rule: Rule) -> tuple[str, ...]:
    """The classes of time that a rule's saving comes from: those it names, else those of its category."""
    if rule.saving is not None and rule.saving.of:
        return rule.saving.of
    return _OF_CATEGORY.get(rule.category, (rule.category,))


def shared_out(
    found: Sequence[tuple[Rule, Finding]], metrics: Metrics
) -> tuple[list[tuple[Rule, Finding]], list[NotApplicable]]:
    """The findings in their order, with savings cut to what those before them leave, and those to which nothing is left.

    Severities stay to be worked out. Where the step's time is not known by class, all stay as they are.
    """
    if metrics.value(SHARES["compute"]) is None:
        return list(found), []
    spent = []
    left = {name: metrics.value(metric) or 0.0 for name, metric in SHARES.items()}
    out = []
    for rule, finding in found:
        wanted = finding.saving.high
        taken = 0.0
        for name in classes_of(rule):
            part = min(wanted - taken, left[name])
            left[name] -= part
            taken += part
        if taken >= wanted - _TOLERANCE:
            out.append((rule, finding))
        elif taken >= _NOTHING:
            out.append((rule, _cut(finding, taken)))
        else:
            spent.append(NotApplicable(rule.id, "what it could save is saved by the findings above it"))
    return out, spent


def _cut(finding: Finding, high: float) -> Finding:
    saving = Saving(min(finding.saving.low, high), high, finding.saving.basis)
    return replace(finding, saving=saving, caveat=" ".join(filter(None, (finding.caveat, LESS_IS_LEFT))))
