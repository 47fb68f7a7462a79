"""The findings' own fixes as candidates: each codemod of a rule that applies in one place, and its variables and flags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tfadvisor.act.repair.plan import Patched, make_plan, unified
from tfadvisor.act.repair.sources import Sources
from tfadvisor.act.trial.candidates import Candidate, Promise, environment_of, refused
from tfadvisor.act.trial.one_run import Asked
from tfadvisor.act.trial.program import Program, last_line
from tfadvisor.advice.codemods import LAUNCH_LINE, CodemodRef
from tfadvisor.advice.findings import Finding
from tfadvisor.errors import TraceError
from tfadvisor.files import temporary_folder
from tfadvisor.report.model import Report
from tfadvisor.report.wording import advice

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


# XLA's passes as candidates: each that changes the program's large modules, switched off alone.

_DUMPED = re.compile(
    r"^(?P<module>module_\d+\.[^/]*?)\.\d{4}\.(?P<pipeline>[^.]+)\.after_(?P<name>[^.]+)\.before_[^.]+\.txt$"
)
"""What XLA calls the state of a module after a pass that has changed it."""
_NEEDED = ("pipeline-start", "copy-insertion", "layout-assignment")
"""No pass, or one without which the rest computes something else."""
_LARGE = 0.2
"""Modules are looked at that are so large beside the largest."""
FLAG = "--xla_disable_hlo_passes="


def pass_candidates(
    command: Sequence[str], seconds: float, asked: Asked, tell: Callable[[str], None]
) -> tuple[Candidate, ...]:
    """From one run that writes what its passes do. Raises TraceError where XLA compiles nothing, Interrupted."""
    tell("looks which passes change the program")
    with temporary_folder("tfadvisor-passes-") as folder:
        flags = Candidate(name="", env={"XLA_FLAGS": f"--xla_dump_to={folder} --xla_dump_hlo_pass_re=.*"})
        run = Program(command, asked).watch(seconds, 1.0, environment_of(flags))
        sizes = {one.name: one.stat().st_size for one in Path(folder).iterdir()}
    names = passes_in(sizes)
    if not names:
        why = f"ended with exit code {run.code}{last_line(run.tail)}" if run.code else "XLA compiled no program of it"
        raise TraceError(
            " ".join(command), f"{why}.", "--passes is for programs that XLA compiles: JAX, or jit_compile."
        )
    versions = run.answers[0].versions if run.answers else {}
    return tuple(one for one in map(_without, names) if not refused(one, versions))


def passes_in(sizes: Mapping[str, int]) -> list[str]:
    """Passes that changed a large module, by name. sizes: of the files that XLA wrote, by their names."""
    found = [(told, size) for name, size in sizes.items() if (told := _DUMPED.match(name))]
    largest = max((size for _, size in found), default=0)
    pipelines = {told["pipeline"] for told, _ in found}
    large = {told["module"] for told, size in found if size >= _LARGE * largest}
    names = {told["name"] for told, _ in found if told["module"] in large}
    return sorted(names - pipelines - set(_NEEDED))


def _without(name: str) -> Candidate:
    return Candidate(name=f"without {name}", env={"XLA_FLAGS": f"{FLAG}{name}"}, change=f"pass {name}")
