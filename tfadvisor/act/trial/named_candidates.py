"""What the user named, as candidates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec

from tfadvisor.act.repair.sources import Sources, read_sources
from tfadvisor.act.trial.all_together import with_all_together
from tfadvisor.act.trial.candidates import Candidate, from_assignment
from tfadvisor.act.trial.finding_fixes import from_findings
from tfadvisor.act.trial.patches import from_diff
from tfadvisor.advice.codemods import CodemodRef
from tfadvisor.analysis import Options, analyze_run
from tfadvisor.comparison.ledger import sketch_of
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.files import read_small_text
from tfadvisor.report import Report
from tfadvisor.trace import choose_run

_LARGEST_REPORT = 200_000_000
CodemodsByRule = Mapping[str, Sequence[CodemodRef]]
"""Of all rules, by id."""
Bounded = Callable[[Sequence[Path]], AbstractContextManager[object]]
"""Within which a trace's files are read."""


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
    codemods: Callable[[], CodemodsByRule],
    bounded: Bounded = nullcontext,
    *,
    settings_only: bool = False,
) -> AskedFor:
    """codemods: of the rules, asked for where a report or a rule is named.
    settings_only: of the report's findings only variables and flags.

    Raises UsageError, TraceError.
    """
    files = [patch for patch in patches if _is_file(patch)]
    named = [patch for patch in patches if not _is_file(patch)]
    report = _report(origin, rules, bounded)
    found: list[Candidate] = []
    if report is not None or named:
        found += _offered(
            report,
            codemods(),
            named,
            command,
            source,
        )
    if settings_only:
        found = [candidate for candidate in found if not candidate.texts]
    for rule in named:
        _check_offered(rule, found)
    found += map(from_diff, map(Path, files))
    found += map(from_assignment, settings)
    sketch = sketch_of(report) if report is not None else ()
    return AskedFor(
        with_all_together(_each_once(found)),
        origin,
        _step_ms_of(report),
        sketch,
    )


def _step_ms_of(report: Report | None) -> float | None:
    times = report.steps.time_ms if report is not None else None
    return times.median if times is not None else None


def _offered(
    report: Report | None,
    by_rule: CodemodsByRule,
    named: Sequence[str],
    command: Sequence[str],
    source: Path | None,
) -> Iterable[Candidate]:
    """What the findings of a report offer. named: by these rules, none for all. Raises
    UsageError for a rule that there is not, or without a report.
    """
    for rule in named:
        _check_named(rule, by_rule, report)
    if report is None:
        return ()
    return from_findings(
        report,
        by_rule,
        _sources(command, source),
        named,
    )


def _is_file(name: str) -> bool:
    if name.endswith((".diff", ".patch")) or "/" in name:
        return True
    return Path(name).is_file()


def _check_named(
    rule: str,
    by_rule: CodemodsByRule,
    report: Report | None,
) -> None:
    if rule not in by_rule:
        raise UsageError(
            f"--patch {rule}: no file and no rule.{did_you_mean(rule, by_rule)}"
        )
    if report is None:
        raise UsageError(
            f"--patch {rule}: a rule's fixes need its finding. Give the trace or "
            "report too: --from logdir/"
        )


def _check_offered(
    rule: str,
    found: Sequence[Candidate],
) -> None:
    if all(candidate.rule_id != rule for candidate in found):
        raise UsageError(
            f"--patch {rule}: the report has no such finding, or none of its "
            "fixes fits the program."
        )


def _each_once(found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """By name, the first of each."""
    by_name: dict[str, Candidate] = {}
    for candidate in found:
        by_name.setdefault(candidate.name, candidate)
    return tuple(by_name.values())


def _sources(
    command: Sequence[str],
    source: Path | None,
) -> Sources:
    """The place that was given, the script that the command names, or the folder where
    it runs.
    """
    if source is not None:
        return read_sources(source)
    named = [Path(word) for word in command if word.endswith(".py")]
    scripts = [script for script in named if script.is_file()]
    return read_sources(scripts[0] if scripts else Path())


def _report(
    origin: Path | None,
    rules: Sequence[Path],
    bounded: Bounded,
) -> Report | None:
    """Of a trace, or as `tfadvisor analyze --format json` wrote it."""
    if origin is None:
        return None
    if origin.suffix != ".json":
        run, _ = choose_run([origin])
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
