"""`tfadvisor gate --against`: its options, who waits for it, and what its programs said when one of them failed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer
from typer.core import TyperOption

from tfadvisor.cli.outputs import note
from tfadvisor.errors import UsageError

if TYPE_CHECKING:
    from tfadvisor.act.against.gate_against import Judged
    from tfadvisor.analysis import Options
    from tfadvisor.comparison.gate.config import Config
    from tfadvisor.report.model import Report

COMMAND = "tfadvisor.command"
"""Where a context keeps what stands after `--`."""
_BUDGET = 600.0
_TIME = re.compile(r"^(\d{1,9}(?:\.\d{1,9})?)\s*(s|m|min|h|)$")
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
_OF_RUNS = ("paths", "candidates", "baseline", "branch", "add", "run", "host", "steps")
"""Parameters about runs that are recorded already."""


class Turns(msgspec.Struct, frozen=True):
    """What is recorded in turns."""

    ref: str
    command: Sequence[str]
    links: Sequence[str]
    seconds: float
    """The budget."""


def asked_for(
    context: typer.Context, against: str | None, budget: str | None, links: Sequence[str] | None
) -> Turns | None:
    """None without --against. Raises UsageError for options that do not go together."""
    if against is None:
        for option, given in (("--budget", budget), ("--link", links)):
            if given:
                raise UsageError(
                    f"{option} belongs to --against REF -- COMMAND, which records; PATH is recorded already."
                )
        return None
    for parameter in context.command.params:
        if parameter.name in _OF_RUNS and context.params.get(parameter.name):
            name = parameter.opts[0] if isinstance(parameter, TyperOption) else "PATH"
            raise UsageError(f"{name} is about runs that are recorded already; --against {against} records its own.")
    command = context.meta.get(COMMAND, ())
    if not command:
        raise UsageError(f"COMMAND is missing: tfadvisor gate --against {against} -- python train.py")
    return Turns(against, command, tuple(links or ()), seconds_in(budget) if budget is not None else _BUDGET)


def seconds_in(text: str) -> float:
    """`90s`, `10m`, `1h` or seconds. Raises UsageError for anything else."""
    match = _TIME.match(text.strip())
    if match is None or float(match[1]) <= 0:
        raise UsageError(f"--budget {text}: give a time, as 90s, 10m or 1h.")
    return float(match[1]) * _SECONDS[match[2]]


@contextmanager
def judged_in_turns(
    turns: Turns,
    options: Options,
    model: str | None,
    labels: Mapping[str, str],
    config_for: Callable[[Report], Config],
) -> Iterator[Judged]:
    """Raises UsageError and TraceError, after the last lines of a program that failed."""
    from tfadvisor.act.against.gate_against import (  # imports NumPy, which no --help needs
        Against,
        Unrecorded,
        judged_against,
    )

    asked = Against(Path.cwd(), turns.ref, turns.command, turns.links, turns.seconds, options, model, labels)
    try:
        with judged_against(asked, config_for, _tell) as judged:
            yield judged
    except Unrecorded as error:
        for line in error.lines:
            note(f"| {line}")
        raise


def _tell(message: str) -> None:
    note(message)
    sys.stderr.flush()
