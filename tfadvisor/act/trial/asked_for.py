"""What the user named, as candidates."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec

from tfadvisor.act.repair.plan import Patched, make_plan, unified
from tfadvisor.act.repair.sources import Sources, read_sources
from tfadvisor.act.trial.candidates import (
    Candidate,
    environment_of,
    from_assignment,
    refused,
)
from tfadvisor.act.trial.one_run import Asked, Program, last_line
from tfadvisor.act.trial.patches import from_diff
from tfadvisor.act.trial.result import Share
from tfadvisor.advice.codemods import LAUNCH_LINE, CodemodRef
from tfadvisor.advice.findings import Finding
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.analysis import Options, analyze_run
from tfadvisor.comparison.ledger import sketch_of
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.files import read_small_text, temporary_folder
from tfadvisor.report.model import Report
from tfadvisor.report.wording import advice
from tfadvisor.trace.runs import choose_run

_LARGEST_REPORT = 200_000_000


class AskedFor(msgspec.Struct, frozen=True):
    """candidates: in the order in which they were named."""

    candidates: tuple[Candidate, ...]
    origin: Path | None
    """The report or trace, None for none."""
    step_ms: float | None
    """What the report says of the step."""
    sketch: tuple[int, ...]
    """By which a later report of the same program is known; empty without a report."""


def asked_for(
    command: Sequence[str],
    patches: Sequence[str],
    settings: Sequence[str],
    origin: Path | None,
    source: Path | None,
    rules: Sequence[Path],
    bounded: Callable[[Sequence[Path]], AbstractContextManager[object]] = nullcontext,
    *,
    settings_only: bool = False,
) -> AskedFor:
    """bounded: within which a trace's files are read. settings_only: of the report's
    findings only variables and flags.

    Raises UsageError, TraceError.
    """
    files = [one for one in patches if _is_file(one)]
    named = [one for one in patches if one not in files]
    report = _report(origin, rules, bounded) if origin is not None else None
    rule_codemods = (
        {one.id: one.codemods for one in load_catalogue(rules, preview=True).rules}
        if report or named
        else {}
    )
    found: list[Candidate] = []
    for one in named:
        if one not in rule_codemods:
            raise UsageError(
                f"--patch {one}: no file and no rule.{did_you_mean(one, rule_codemods)}"
            )
        if report is None:
            raise UsageError(
                f"--patch {one}: a rule's fixes need its finding. Give the trace or "
                "report too: --from logdir/"
            )
    if report is not None:
        offered = from_findings(report, rule_codemods, _sources(command, source), named)
        found += [one for one in offered if not (settings_only and one.texts)]
    for one in named:
        if one not in {candidate.rule_id for candidate in found}:
            raise UsageError(
                f"--patch {one}: the report has no such finding, or none of its "
                "fixes fits the program."
            )
    found += [from_diff(Path(one)) for one in files]
    found += [from_assignment(one) for one in settings]
    times = report.steps.time_ms if report is not None else None
    each_once: dict[str, Candidate] = {}
    for candidate in found:
        each_once.setdefault(candidate.name, candidate)
    return AskedFor(
        tuple(each_once.values()),
        origin,
        times.median if times else None,
        sketch_of(report) if report is not None else (),
    )


def _is_file(name: str) -> bool:
    return name.endswith((".diff", ".patch")) or "/" in name or Path(name).is_file()


def _sources(command: Sequence[str], source: Path | None) -> Sources:
    """The place that was given, the script that the command names, or the folder where
    it runs.
    """
    scripts = [
        Path(one) for one in command if one.endswith(".py") and Path(one).is_file()
    ]
    return read_sources(source or (scripts[0] if scripts else Path()))


def _report(
    origin: Path,
    rules: Sequence[Path],
    bounded: Callable[[Sequence[Path]], AbstractContextManager[object]],
) -> Report:
    """Of a trace, or as `tfadvisor analyze --format json` wrote it."""
    if origin.suffix != ".json":
        run = choose_run([origin])[0]
        with bounded(run.files):
            return analyze_run(run, Options(rules=tuple(rules)))
    try:
        given = json.loads(read_small_text(origin, _LARGEST_REPORT))
        return msgspec.convert(given, Report)
    except OSError as error:
        raise UsageError(
            f"--from {origin}: cannot be read: {error.strerror or error}."
        ) from error
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        remedy = "`tfadvisor analyze --format json` writes one."
        raise TraceError(
            str(origin), f"it is no report of this version ({error}).", remedy
        ) from error


# The findings' own fixes as candidates: each codemod of a rule that applies in one
# place, and its variables and flags.

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
    paths = {one.name: str(one.path) for one in sources.files}
    texts = {one.name: one.text for one in sources.files}
    for finding in advice(report):
        if rules and finding.rule_id not in rules:
            continue
        seen: set[str] = set()
        for ref in codemods.get(finding.rule_id, ()):
            if ref.name == LAUNCH_LINE:
                continue
            for made in make_plan(
                [finding], {finding.rule_id: [ref]}, texts, unified
            ).patched:
                if made.text not in seen:
                    seen.add(made.text)
                    yield _candidate(finding, made, paths, first=len(seen) == 1)
        yield from settings_of(finding)


def _candidate(
    finding: Finding, made: Patched, paths: Mapping[str, str], *, first: bool
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
        if fix.env and not any(
            one in value for value in fix.env.values() for one in _PLACEHOLDERS
        ):
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


def _promise(finding: Finding) -> Share | None:
    return (
        Share(finding.saving.low, finding.saving.high)
        if finding.saving is not None
        else None
    )


# XLA's passes as candidates: each that changes the program's large modules, switched
# off alone.

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
    """From one run that writes what its passes do. Raises TraceError where XLA compiles
    nothing, Interrupted.
    """
    tell("looks which passes change the program")
    with temporary_folder("tfadvisor-passes-") as folder:
        flags = Candidate(
            name="",
            env={"XLA_FLAGS": f"--xla_dump_to={folder} --xla_dump_hlo_pass_re=.*"},
        )
        run = Program(command, asked).watch(seconds, 1.0, environment_of(flags))
        sizes = {one.name: one.stat().st_size for one in Path(folder).iterdir()}
    names = passes_in(sizes)
    if not names:
        why = (
            f"ended with exit code {run.code}{last_line(run.tail)}"
            if run.code
            else "XLA compiled no program of it"
        )
        raise TraceError(
            " ".join(command),
            f"{why}.",
            "--passes is for programs that XLA compiles: JAX, or jit_compile.",
        )
    versions = run.answers[0].versions if run.answers else {}
    return tuple(one for one in map(_without, names) if not refused(one, versions))


def passes_in(sizes: Mapping[str, int]) -> list[str]:
    """Passes that changed a large module, by name. sizes: of the files that XLA wrote,
    by their names.
    """
    found = [
        (told, size) for name, size in sizes.items() if (told := _DUMPED.match(name))
    ]
    largest = max((size for _, size in found), default=0)
    pipelines = {told["pipeline"] for told, _ in found}
    large = {told["module"] for told, size in found if size >= _LARGE * largest}
    names = {told["name"] for told, _ in found if told["module"] in large}
    return sorted(names - pipelines - set(_NEEDED))


def _without(name: str) -> Candidate:
    return Candidate(
        name=f"without {name}",
        env={"XLA_FLAGS": f"{FLAG}{name}"},
        change=f"pass {name}",
    )
