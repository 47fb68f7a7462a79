"""What `gate`, `baseline` and `compare` share: traces to reports and snapshots."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from tfadvisor.analysis import Options, analyze_run, draw_run
from tfadvisor.cli.outputs import note
from tfadvisor.cli.reading import bounded, chosen_run
from tfadvisor.comparing import as_snapshot, comparison_of
from tfadvisor.comparison import on_page
from tfadvisor.comparison.baseline.snapshot import (
    DEFAULT_MODEL,
    Snapshot,
    commit_and_branch,
    snapshot_of,
)
from tfadvisor.comparison.baseline.store import read_store
from tfadvisor.comparison.gate.config import DEFAULT_KEEP, Config
from tfadvisor.comparison.gate.config_file import find_config, read_config
from tfadvisor.comparison.gate.read_config import known_names, read
from tfadvisor.errors import NothingToCompare, TraceError, UsageError
from tfadvisor.report import PageData, Report
from tfadvisor.report.forms import as_html
from tfadvisor.trace import Run, all_runs
from tfadvisor.trace.remote_path import place_of

DEFAULT_STORE = Path(".tfadvisor") / "baselines"


def report_of(paths: Sequence[Path], options: Options) -> Report:
    """The report of a run, as `analyze` makes it. Raises TraceError or UsageError."""
    run = chosen_run(paths, options)
    with bounded(run.files):
        return analyze_run(run, options)


def newest(options: Options) -> Options:
    """The same for another path: --run names a run of PATH only."""
    return replace(options, run=None)


def chosen_side(path: Path, options: Options) -> Run:
    """The run of one side of a comparison. Raises TraceError or UsageError."""
    return chosen_run([path], options, another="")


def read_side(path: Path, options: Options) -> Report | Snapshot:
    """A trace's report, or a snapshot as it is."""
    if path.suffix == ".json" and path.is_file():
        return as_snapshot(path)
    run = chosen_side(path, options)
    with bounded(run.files):
        return analyze_run(run, options)


def drawn(run: Run, options: Options) -> PageData:
    """The page of a run, as `analyze` makes it. Raises TraceError or UsageError."""
    with bounded(run.files):
        return draw_run(run, options)


def side_by_side(pages: Sequence[PageData]) -> tuple[str, bool]:
    """The page of two runs, the new one first, with the causes for both ways round, and
    whether they are comparable.
    """
    reports = [page.report for page in pages]
    ways = [
        (comparison_of(reports[base], reports[new]), new, base)
        for new, base in ((0, 1), (1, 0))
    ]
    return as_html(pages, comparisons=[on_page(*way) for way in ways]), not ways[0][
        0
    ].refused


def labels_of(given: Sequence[str], configured: Mapping[str, str]) -> dict[str, str]:
    """Labels of the configuration and, above them, of the command line. Raises
    UsageError for what is no NAME=VALUE.
    """
    found = dict(configured)
    for label in given:
        name, equals, value = label.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--label {label}: give NAME=VALUE, e.g. batch=256.")
        found[name] = value
    return found


def configured(
    config: Path | None, rules: Sequence[Path] = (), preset: str | None = None
) -> Config:
    """The given configuration, else the nearest one."""
    file = read_config(config) if config is not None else find_config(Path.cwd())
    return read(file, known_names(rules), preset)


def store_of(given: str | None, config: Config) -> Path:
    """The store of the command line, else the configuration's, else the usual one."""
    return place_of(given or config.baseline or DEFAULT_STORE)


def store_at(given: str | None, config: Path | None) -> Path:
    """The same, by the file of the configuration."""
    return store_of(given, configured(config))


def judged_snapshot(
    report: Report, model: str | None, labels: Mapping[str, str]
) -> Snapshot:
    """A report's snapshot, of the commit and branch that CI or git names here. Without
    any step the trace can be read, but there is too little to judge: exit code 4.
    """
    try:
        snapshot = snapshot_of(report, model or DEFAULT_MODEL, labels)
    except TraceError as error:
        raise NothingToCompare(error.place, error.cause, error.remedy) from error
    commit, branch = _here()
    return replace(
        snapshot, origin=replace(snapshot.origin, commit=commit, branch=branch)
    )


@lru_cache(maxsize=1)
def _here() -> tuple[str, str]:
    return commit_and_branch(os.environ, Path.cwd())


def stored_runs(
    store: Path, options: Options, model: str | None, labels: Mapping[str, str]
) -> list[Snapshot]:
    """The runs of a store; of a logdir, its runs as if they were stored.

    Files that cannot be used are named and left out. Raises TraceError when that leaves
    none of several.
    """
    if store.exists() and not store.is_dir():
        raise UsageError(
            f"--baseline {store}: is not a folder. Give a store, or a logdir whose "
            "runs are the baseline."
        )
    contents = read_store(store)
    for file, why in contents.unusable:
        note(f"{file}: left out of the baseline: {why}.")
    if contents.unusable and not contents.runs:
        raise TraceError(
            str(store),
            "none of its snapshots can be used.",
            "Restore the store, or remove it to begin anew.",
        )
    if contents.runs or not store.is_dir():
        return [kept.snapshot for kept in contents.runs]
    runs = all_runs(store)[:DEFAULT_KEEP]
    reports = [report_of(run.files, newest(options)) for run in reversed(runs)]
    return [judged_snapshot(report, model, labels) for report in reports]
