"""What a stable rule of the catalogue needs: a reason at every bound, and either a
recording that it fires on or a vendor's guide that describes the fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tfadvisor.advice.judging.conditions import Compare
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.advice.loading.rule_limits import comparisons

_VENDORS = (
    "cloud.google.com",
    "docs.cloud.google.com",
    "docs.jax.dev",
    "docs.kernel.org",
    "docs.python.org",
    "docs.pytorch.org",
    "flax.readthedocs.io",
    "keras.io",
    "man7.org",
    "numpy.org",
    "openxla.org",
    "rocm.docs.amd.com",
    "www.tensorflow.org",
)
_REPOSITORIES = (
    "ai-hypercomputer",
    "google",
    "google-deepmind",
    "jax-ml",
    "keras-team",
    "nvidia",
    "openxla",
    "pytorch",
    "rocm",
    "tensorflow",
)
"""Owners on github.com."""
_CONFIRMATIONS = 2
"""Independent ones that replace a source."""


def bounds_of(rule: Rule) -> list[Compare]:
    """Every comparison of a metric with a number: of the rule, of what bounds its
    severity, of its fixes.
    """
    found = list(comparisons(rule.when))
    if rule.at_most is not None:
        found += comparisons(rule.at_most.when)
    for fix in rule.fixes:
        found += comparisons(fix.needs)
        found += comparisons(fix.never)
    return found


def lacks(rule: Rule, root: Path) -> list[str]:
    """What keeps a rule from being stable, a few words each; nothing of a preview rule.
    root: of the repository.
    """
    return (
        [] if rule.is_preview else [*_without_reason(rule), *_without_proof(rule, root)]
    )


def _without_reason(rule: Rule) -> Iterator[str]:
    bare = sum(not bound.because for bound in bounds_of(rule))
    if bare:
        yield f"{bare} bound{'s' if bare > 1 else ''} without a reason"


def _without_proof(rule: Rule, root: Path) -> Iterator[str]:
    has_guide = any(_is_vendor(one.url) for one in rule.source)
    if rule.is_documented:
        if not has_guide:
            yield "documented, and no source by a vendor or framework"
        if rule.confirmed:
            yield "documented, and a recording confirms it"
        return
    if not has_guide and len(rule.confirmed) < _CONFIRMATIONS:
        yield "neither a source by a vendor or framework nor two confirmations"
    if not rule.confirmed:
        yield "no recording in `confirmed`"
    for one in rule.confirmed:
        if not _fires(rule, one, root):
            yield f"does not fire on {one}"


def _is_vendor(url: str) -> bool:
    address = urlsplit(url)
    host = address.hostname or ""
    if host == "github.com":
        return address.path.strip("/").partition("/")[0].lower() in _REPOSITORIES
    return host in _VENDORS or host.endswith((".nvidia.com", ".intel.com"))


# Where it stands what a rule said of a recording: in the golden reports, which tests
# compare with today's answers, or in answers that were frozen at first sight.

_PROGRAM = re.compile(r"public program (\w+)")
_SIGHT = re.compile(r"first sight, batch (\d+): (\w+)")
_TRACE = re.compile(r"public trace (\S+)")
_FORMERLY = {
    "array-grows-each-step": ("recompilation-in-steps", "append is compiled for each"),
    "all-reduce-in-loop": ("exposed-collectives", "Sum once after the loop"),
    "debugging-in-step": ("costly-ops", "Switch the checks off"),
    "exposed-exchanges": ("exposed-collectives", "activations"),
    "input-slow-parallel-map": ("input-parallel-map-saturated", ""),
    "loop-of-tiny-ops": ("many-tiny-ops", "A loop inside the step"),
    "recompiled-for-equal-sizes": ("recompilation-in-steps", "Pass what changes"),
    "recurrent-layer-ops": ("many-tiny-ops", "time steps of recurrent layers"),
}
"""Rules that frozen answers know as a cause of another: its id, and how what it advised
for this cause began.
"""


def _fires(rule: Rule, recording: str, root: Path) -> bool:
    """Whether what was said of a recording names the rule."""
    if program := _PROGRAM.fullmatch(recording):
        answers = root / "benchmarks" / "public-programs" / "first_answers.json"
        return _answered(rule, answers, program[1])
    if sight := _SIGHT.fullmatch(recording):
        batch = root / "benchmarks" / "diagnosis" / "batches" / sight[1]
        return _answered(rule, batch / "first_answers.json", sight[2])
    golden = root / "tests" / "golden"
    if trace := _TRACE.fullmatch(recording):
        folders = (golden / "traces", golden / "cases" / "strangers")
        return any(_reported(rule, folder / f"{trace[1]}.txt") for folder in folders)
    return _reported(rule, golden / f"{recording}.txt")


def _reported(rule: Rule, golden: Path) -> bool:
    if not golden.is_file():
        return False
    finding = re.compile(rf"^  \w+,( unsure,)? {re.escape(rule.id)}(,|$)", re.MULTILINE)
    return finding.search(golden.read_text(encoding="utf-8")) is not None


def _answered(rule: Rule, answers: Path, program: str) -> bool:
    if not answers.is_file():
        return False
    said = json.loads(answers.read_text(encoding="utf-8")).get(program, {})
    name, advice = _FORMERLY.get(rule.id, (rule.id, ""))
    runs = (one for one in said.values() if isinstance(one, dict))
    findings = (each for run in runs for each in run.get("findings", ()))
    return any(
        finding.get("rule", finding.get("id")) == name
        and advice in finding.get("do", finding.get("fix", ""))
        for finding in findings
    )
