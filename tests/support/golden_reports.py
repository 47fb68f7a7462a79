"""What tfadvisor says of each recorded run, in a few lines that a reviewer reads:
`tests/golden`, one file a run.

python tests/support/golden_reports.py [PART OF A NAME]     writes them anew

Runs of others, beside the checkout in `shared/`, have their files here too; where that
folder is absent they stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

import tfadvisor
from tfadvisor.advice.findings import Finding
from tfadvisor.report.model import Report
from tfadvisor.report.wording import time_line, weight_words
from tfadvisor.trace import find_runs

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
SOURCES = {
    "fixtures": ROOT / "fixtures",
    "traces": ROOT.parent / "shared" / "traces",
    "cases": ROOT.parent / "shared" / "cases",
}
"""By the folder of `tests/golden` that holds what is said of their runs."""
_ACTIVITIES = 6
"""Of "Where the step goes", as many as the terminal shows."""


class Recording(msgspec.Struct, frozen=True):
    """One run, by the name of its golden report."""

    name: str
    """As `fixtures/gpu/jax-recompile`."""
    path: Path
    """The folder of its traces."""

    @property
    def golden(self) -> Path:
        """Where what is said of it stands."""
        return GOLDEN / f"{self.name}.txt"


def recordings() -> list[Recording]:
    """Every run in the recordings of this project and of others, by name."""
    return sorted(_recordings(), key=lambda one: one.name)


def _recordings() -> Iterator[Recording]:
    for source, folder in SOURCES.items():
        for run in {file.parent for file in folder.rglob("*.xplane.pb*")}:
            inner = [
                part
                for part in run.relative_to(folder).parts
                if part not in ("plugins", "profile")
            ]
            yield Recording("/".join((source, *inner)), run)


@cache
def report_of(path: Path) -> Report | tfadvisor.TraceError:
    """The report of one run, or why there is none. path: of its folder, which may hold
    another run's folder.
    """
    try:
        named = {run.path: run.name for run in find_runs(path)}
        return tfadvisor.analyze(path, run=named.get(path)).report
    except tfadvisor.TraceError as error:
        return error


def golden_text(report: Report | tfadvisor.TraceError) -> str:
    """What is said of a run: the same for the same report, with numbers that a reader
    can compare.
    """
    if isinstance(report, tfadvisor.TraceError):
        return f"no report: {report.cause}\n"
    return (
        "\n".join(
            [*_head(report), *_activities(report), *_findings(report), *_plan(report)]
        )
        + "\n"
    )


def _head(report: Report) -> list[str]:
    verdict, steps = report.verdict, report.steps
    length = f" of {steps.time_ms.median:.3g} ms" if steps.time_ms else ""
    classes = [
        f"{name} {share:.0%}"
        for name, share in sorted(report.breakdown.items(), key=lambda one: -one[1])
        if share
    ]
    return [
        f"verdict: {verdict.bottleneck} "
        f"{verdict.fraction:.0%}{', healthy' if verdict.healthy else ''}",
        f"         {verdict.summary}",
        f"steps: {steps.count}{length}, {steps.source}, {steps.confidence:.0%} sure",
        f"classes: {' · '.join(classes)}",
    ]


def _activities(report: Report) -> list[str]:
    rows = [
        (part.fraction, kind.kind, part)
        for kind in report.attribution
        for part in kind.parts
    ]
    lines = ["goes:"]
    for share, kind, part in sorted(rows, key=lambda row: -row[0])[:_ACTIVITIES]:
        lines.append(f"  {share:4.0%}  {kind:10}  {part.activity}")
        cause = time_line(kind, part).cause
        if cause:
            lines.append(f"        {cause}")
    return lines


def _findings(report: Report) -> Iterator[str]:
    yield "findings:"
    for one in report.findings:
        yield f"  {_weight(one)}"
        for place in one.locations[:1]:
            yield f"      at {place.file}:{place.line} {place.op}".rstrip()
        for fix in one.fixes[:1]:
            yield f"      do {fix.do}"


def _weight(one: Finding) -> str:
    words = [weight_words(one).lower(), one.rule_id]
    if one.is_question:
        words.append("asks")
    if one.is_documented:
        words.append("documented")
    if one.takes is not None:
        words.append(f"takes {one.takes:.0%}")
    if one.saving is not None:
        words.append(f"saves {one.saving.low:.0%} to {one.saving.high:.0%}")
    return ", ".join(words)


def _plan(report: Report) -> Iterator[str]:
    if isinstance(report.plan, msgspec.UnsetType):
        return
    worth = [one.rule_id for one in report.plan.changes if one.worth]
    yield f"plan: {', '.join(worth)} save {report.plan.low:.0%} to {report.plan.high:.0%}"


def command_for(name: str) -> str:
    """What writes the golden report of a run anew."""
    return f"python tests/support/golden_reports.py {name}"


def write(part: str = "") -> None:
    """Writes the golden reports whose names hold this part, and takes away those whose
    run is gone.
    """
    kept = {one.golden: one for one in recordings() if part in one.name}
    for file, one in kept.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(golden_text(report_of(one.path)), encoding="utf-8")
    here = [GOLDEN / source for source, folder in SOURCES.items() if folder.is_dir()]
    for file in (file for folder in here for file in folder.rglob("*.txt")):
        if file not in kept and not part:
            file.unlink()


if __name__ == "__main__":
    write(*sys.argv[1:2])
