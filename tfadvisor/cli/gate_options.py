"""The options of `tfadvisor gate`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from typer.core import TyperOption

from tfadvisor.cli.outputs import note
from tfadvisor.cli.reading_options import (
    BASELINE,
    OUTPUT,
    Labels,
    Model,
    Output,
    choice,
    one_format,
    seconds_in,
)
from tfadvisor.cli.typer_commands import option
from tfadvisor.comparison.gate.forms import VERDICT_FORMS
from tfadvisor.errors import UsageError
from tfadvisor.report.forms import names_of

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.comparison.gate.config import Config
    from tfadvisor.comparison.gate.result import GateResult


_JUDGING, AGAINST = "How to judge", "Against another commit"
Candidates = Annotated[
    list[str] | None,
    option(
        "--candidates",
        "PATH",
        "more runs of the same program as PATH: one or several paths",
        path_type=str,
    ),
]
Store = Annotated[
    str | None,
    option(
        "--baseline",
        "DIR",
        "the store of earlier runs, or a logdir whose runs serve as such "
        "(.tfadvisor/baselines)",
        BASELINE,
        path_type=str,
    ),
]
Preset = Annotated[
    str | None,
    choice(
        "--preset",
        names=("recommended", "none"),
        metavar="NAME",
        help="the preset instead of the configuration's",
        panel=_JUDGING,
    ),
]
OnCannotTell = Annotated[
    str | None,
    choice(
        "--on-cannot-tell",
        names=("pass", "warn", "fail"),
        metavar="WORD",
        help="if the data do not decide; fail exits with 4",
        panel=_JUDGING,
        usual="pass",
    ),
]
Add = Annotated[
    bool,
    option("--add", "", "add the runs to the baseline unless the gate fails", _JUDGING),
]
CheckConfig = Annotated[
    bool,
    option(
        "--check-config", "", "check the configuration and do nothing else", _JUDGING
    ),
]
Against = Annotated[
    str | None,
    option(
        "--against",
        "REF",
        "record this commit and what is checked out in turns: -- COMMAND",
        AGAINST,
    ),
]
Budget = Annotated[
    str | None,
    option(
        "--budget",
        "TIME",
        "how long to record at most, e.g. 90s, 10m or 1h (10m)",
        AGAINST,
        show_default=False,
    ),
]
Links = Annotated[
    list[str] | None,
    option(
        "--link",
        "PATH",
        "a path that git does not track and both sides need, e.g. data/; may be "
        "repeated",
        AGAINST,
    ),
]
Format = Annotated[
    str | None, one_format(names_of(VERDICT_FORMS), "format of the verdict")
]
JUnit = Annotated[
    Path | None, option("--junit", "FILE", "JUnit XML: a test case per check", OUTPUT)
]
Comment = Annotated[
    Path | None,
    option(
        "--comment",
        "FILE",
        "Markdown for a comment in a pull request, marked so that the next one "
        "replaces it",
        OUTPUT,
    ),
]


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is judged, and where the verdict goes, as the options of `tfadvisor
    gate` say it.
    """

    candidates: Candidates = None
    baseline: Store = None
    model: Model = None
    label: Labels = None
    preset: Preset = None
    on_cannot_tell: OnCannotTell = None
    add: Add = False
    check_config: CheckConfig = False
    format: Format = None
    output: Output = None
    junit: JUnit = None
    comment: Comment = None
    against: Against = None
    budget: Budget = None
    link: Links = None


# `tfadvisor gate --against`: its options, who waits for it, and what its programs said
# when one of them failed.

COMMAND = "tfadvisor.command"
"""Where a context keeps what stands after `--`."""
_BUDGET = 600.0
_OF_RUNS = ("paths", "candidates", "baseline", "add", "run", "host", "steps")
"""Parameters about runs that are recorded already."""


class Turns(msgspec.Struct, frozen=True):
    """What is recorded in turns."""

    ref: str
    command: Sequence[str]
    links: Sequence[str]
    seconds: float
    """The budget."""


def asked_for(
    context: typer.Context,
    against: str | None,
    budget: str | None,
    links: Sequence[str] | None,
) -> Turns | None:
    """None without --against. Raises UsageError for options that do not go together."""
    if against is None:
        for option, given in (("--budget", budget), ("--link", links)):
            if given:
                raise UsageError(
                    f"{option} belongs to --against REF -- COMMAND, which records; "
                    "PATH is recorded already."
                )
        return None
    for parameter in context.command.params:
        if parameter.name in _OF_RUNS and context.params.get(parameter.name):
            name = parameter.opts[0] if isinstance(parameter, TyperOption) else "PATH"
            raise UsageError(
                f"{name} is about runs that are recorded already; --against "
                f"{against} records its own."
            )
    command = context.meta.get(COMMAND, ())
    if not command:
        raise UsageError(
            f"COMMAND is missing: tfadvisor gate --against {against} -- python train.py"
        )
    return Turns(
        against,
        command,
        tuple(links or ()),
        seconds_in(budget) if budget is not None else _BUDGET,
    )


def judged_in_turns(
    turns: Turns,
    options: Options,
    model: str | None,
    labels: Mapping[str, str],
    config: Config,
) -> GateResult:
    """Raises UsageError and TraceError, after the last lines of a program that
    failed.
    """
    # imports NumPy, which no --help needs
    from tfadvisor.act.against import Against, SideUnrecorded, judged_against

    asked = Against(
        Path.cwd(),
        turns.ref,
        turns.command,
        turns.links,
        turns.seconds,
        options,
        model,
        labels,
    )
    try:
        return judged_against(asked, config, _tell)
    except SideUnrecorded as error:
        for line in error.lines:
            note(f"| {line}")
        raise


def _tell(message: str) -> None:
    note(message)
    sys.stderr.flush()
