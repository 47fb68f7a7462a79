"""What a shell offers for a value of an option: rule ids, and the runs and hosts of the paths given so far."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from tfadvisor.errors import AdvisorError

_PATHS = ("paths", "path", "base", "new")
"""Parameters of commands that hold what is analysed."""


def rule_ids() -> list[tuple[str, str]]:
    """Each built-in rule with its title."""
    from tfadvisor.engine.loading.catalogue import built_in_rules

    return [(rule.id, rule.title) for rule in built_in_rules()]


def run_names(context: typer.Context) -> list[str]:
    """The runs of the logdirs given so far, the newest first."""
    from tfadvisor.xplane.runs import find_runs

    return [run.name for path in _given(context) if path.is_dir() for run in find_runs(path)]


def host_names(context: typer.Context) -> list[str]:
    """The hosts of the run given so far, or of the newest."""
    from tfadvisor.xplane.runs import choose_run, host_of

    names: list[str] = []
    for path in _given(context):
        try:
            chosen, _ = choose_run([path], context.params.get("run"))
        except AdvisorError:
            continue
        names += [host_of(file) for file in chosen.files]
    return names


def _given(context: typer.Context) -> Iterator[Path]:
    """The paths before the value that is asked for; Typer has not sorted them yet where an option stands without one."""
    for name in _PATHS:
        value = context.params.get(name)
        yield from map(Path, value if isinstance(value, (list, tuple)) else [value] if value else [])
    yield from (Path(one) for one in context.args if not one.startswith("-"))
