"""tfadvisor's findings as causes. A rule without a cause of its own stands for its
category's class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from answers import Answer, Diagnosis

import tfadvisor
from tfadvisor.advice.findings import Finding
from tfadvisor.report.model import Report
from tfadvisor.version import VERSION
from tfadvisor.vocabulary import Severity

NAME = "tfadvisor"
HOW = (
    "the findings in their order, the rule standing for a cause; a finding of "
    "severity `low` or `info` counts as one that "
    "it is not sure of. A verdict that is not healthy and whose class no finding has "
    "counts as a last answer, not a sure one: it "
    "says where the time goes, not that anything is wrong. Its places are the three "
    "largest activities of the two largest "
    "classes of *Where the step goes*, with the two largest parts of each."
)

CAUSES = {
    "input-sequential-map": "input/sequential-map",
    "input-per-element-map": "input/per-element-map",
    "input-slow-parallel-map": "input/heavy-map",
    "input-python-function": "input/python-function",
    "input-generator": "input/generator",
    "input-not-prefetched": "input/no-prefetch",
    "input-slow-source": "input/slow-source",
    "input-loader-in-step": "input/loader-in-loop",
    "input-made-in-loop": "input/loader-in-loop",
    "input-loader-behind": "input/slow-loader",
    "input-bound-steps": "input",
    "host-work-in-loop": "host/work-in-loop",
    "pipeline-built-in-step": "host/work-in-loop",  # see cause_of
    "eager-execution": "launch/op-by-op",
    "ops-beside-compiled-step": "launch/op-by-op",
    "many-tiny-ops": "launch/tiny-ops",
    "loop-of-tiny-ops": "launch/tiny-ops",
    "recurrent-layer-ops": "launch/tiny-ops",
    "independent-rounds-in-turn": "launch/tiny-ops",
    "unrolled-loop": "launch/tiny-ops",
    "launch-gaps-between-kernels": "launch/many-dispatches",
    "many-compiled-calls": "launch/many-dispatches",
    "late-kernel-starts": "launch/late-starts",
    "host-thread-contention": "launch/thread-contention",
    "array-grows-each-step": "compile/recompilation",
    "recompilation-in-steps": "compile/recompilation",
    "recompiled-for-equal-sizes": "compile/recompilation",
    "small-collectives": "collective/many-small",
    **dict.fromkeys(
        (
            "exposed-collectives",
            "exposed-collectives-on-tpu",
            "collectives-not-hidden",
            "exposed-exchanges",
            "all-reduce-in-loop",
            "slices-network-exposed",
            "layer-weights-exposed",
            "layer-weights-exposed-on-tpu",
        ),
        "collective/exposed",
    ),
    "cores-wait-at-barrier": "imbalance",
    "uneven-devices": "imbalance/devices",
    "late-host": "imbalance/host",
    "synchronised-every-step": "host/synchronisation",
    "waits-in-few-steps": "host/synchronisation",
    "inference-waits-every-step": "host/synchronisation",
    "loss-scaling-on-host": "launch",
    "all-reduce-below-bandwidth": "collective/slow-links",
    "pipeline-permutes-exposed": "collective/exposed",
    "products-wait-for-collectives": "collective/exposed",
    "slices-copied-in-loop": "transfer/device-to-device",
    "carried-array-copied": "transfer/device-to-device",
    "exposed-copies": "transfer/host-to-device",
    "copies-beyond-computation": "transfer/host-to-device",
    "results-copied-to-host": "transfer/device-to-host",
    "copies-between-devices": "transfer/device-to-device",
    "copies-within-device": "transfer/device-to-device",
    "offload-exposed": "transfer",
    "python-in-step": "host/python-in-step",
    "short-steps": "launch/many-dispatches",
    "files-written-every-step": "host/file-writes",
    "input-shuffle-refill": "input/shuffle-buffer",
    "many-small-copies": "transfer",
    "host-arrays-each-step": "transfer/host-to-device",
    "devices-take-turns": "imbalance",
    "cumulative-ops": "compute/scan-kernel",
    "general-gathers": "compute/slow-kernel",
    "layout-conversions": "compute/layout",
    "products-as-loops": "compute/slow-kernel",
    "scatter-loop": "compute/row-by-row",
    "unfused-attention": "compute/unfused",
    "unfused-elementwise": "compute/unfused",
    "staggered-launches": "launch/late-starts",
    "allocation-in-steps": "memory/allocations",
    "argument-not-donated": "transfer/device-to-device",
    "much-memory-free": "memory",
    "small-memory-pool": "memory/pressure",
    "ops-on-host": "compute/on-host",
    "misaligned-matmul-shapes": "compute/odd-dimensions",
    "fallback-kernels": "compute/odd-dimensions",
    "fp32-matrix-kernels": "compute/precision",
    "double-precision": "compute/precision",
    "random-numbers": "compute",
    "debugging-in-step": "compute/slow-kernel",
    "input-work-in-step": "compute/slow-kernel",
    "same-work-on-every-device": "compute/slow-kernel",
    "quota-of-cores-used-up": "host",
    "memory-swapped": "memory/pressure",
}
# For rules that are not named above: the category and a part of the id.
BY_CATEGORY = (
    ("input", r"small-?files", "input/small-files"),
    ("input", r"shuffle", "input/shuffle-buffer"),
    ("input", r"cache", "input/uncached"),
    ("host", r"checkpoint|file|write", "host/file-writes"),
    ("host", r"callback|python-in-step", "host/python-in-step"),
    ("host", r"sync|wait|block", "host/synchronisation"),
    ("precision", r"", "compute/precision"),
    ("kernel", r"dimension|odd|align|pad|tensor-core", "compute/odd-dimensions"),
    ("kernel", r"layout|transpose", "compute/layout"),
    ("kernel", r"unfused|fus|elementwise|attention", "compute/unfused"),
    ("kernel", r"scan|cumsum|cumulative", "compute/scan-kernel"),
    ("kernel", r"row|loop", "compute/row-by-row"),
    ("kernel", r"scatter|slow|gather|hot|gemm|conv", "compute/slow-kernel"),
    ("placement", r"", "compute/on-host"),
    ("memory", r"alloc|free|retr|fragment", "memory/allocations"),
    ("memory", r"pressure|limit|full|peak", "memory/pressure"),
)
CLASS_OF = dict.fromkeys(("precision", "kernel", "placement", "flags"), "compute")
"""Categories that are no class of causes themselves."""
NO_BOTTLENECK = {"compute", "none", "unknown"}
"""Verdicts that name no class of lost time."""
NO_CAUSE = {"capture"}
"""Categories that are about the trace and not about the program."""


def version() -> str:
    return VERSION


def unmapped() -> list[str]:
    """None: a rule that has no cause here stands for the class of its category."""
    return []


def diagnose(traces: Sequence[Path]) -> Diagnosis:
    report = tfadvisor.analyze(traces[0].parent).report
    answers = [
        answer(finding, report)
        for finding in report.findings
        if finding.category not in NO_CAUSE
    ]
    verdict = report.verdict
    said = {cause.split("/")[0] for one in answers for cause in one.causes}
    if not verdict.healthy and verdict.bottleneck not in {*said, *NO_BOTTLENECK}:
        answers.append(
            Answer((verdict.bottleneck,), False, f"Verdict: {verdict.summary}")
        )
    measured = report.steps.time_ms if report.steps.source != "whole-trace" else None
    return Diagnosis(
        tuple(answers), measured.mean if measured else None, tuple(places(report))
    )


def places(report: Report) -> Iterator[str]:
    """The largest activities and their largest parts, each with where it is."""
    for one in sorted(
        report.to_dict()["attribution"], key=lambda one: -one["fraction"]
    )[:2]:
        for activity in one["parts"][:3]:
            for part in (activity, *activity["parts"][:2]):
                where = " ".join(
                    str(value)
                    for place in part["places"]
                    for value in place.values()
                    if value
                )
                yield f"{part['activity']} {where}"


def answer(finding: Finding, report: Report) -> Answer:
    place = finding.locations[0] if finding.locations else None
    where = (
        f" ({place.file}{'' if place.line is None else f':{place.line}'} in {place.op})"
        if place
        else ""
    )
    return Answer(
        causes=(cause_of(finding),),
        sure=finding.severity.rank > Severity.LOW.rank,
        text=f"{finding.rule_id}, {finding.severity.value}{where}",
    )


def cause_of(finding: Finding) -> str:
    if finding.rule_id == "pipeline-built-in-step" and any(
        one.value == "iterator" for one in finding.evidence
    ):
        return "input/loader-in-loop"
    return known_cause(finding.rule_id, finding.category)


def known_cause(rule_id: str, category: str) -> str:
    if rule_id in CAUSES:
        return CAUSES[rule_id]
    fitting = (
        cause
        for one, part, cause in BY_CATEGORY
        if one == category and re.search(part, rule_id)
    )
    return next(fitting, CLASS_OF.get(category, category))
