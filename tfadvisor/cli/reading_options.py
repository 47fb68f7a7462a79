"""What is measured: the paths and options that commands share, and the run that they choose."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfadvisor.cli.arguments import Parser, gigabytes_per_second, parameter_count, step_range
from tfadvisor.cli.outputs import note

if TYPE_CHECKING:
    from tfadvisor.api import Options
    from tfadvisor.xplane.runs import Run


def add_path(parser: Parser, *, needed: bool = True) -> None:
    """The run, as one or several paths. needed: whether the command does nothing without."""
    parser.add_argument(
        "path",
        nargs="+" if needed else "*",
        type=Path,
        metavar="PATH",
        help="a logdir, a run folder, one *.xplane.pb (or .gz), or several hosts' files of one run",
    )


def add_reading_options(parser: Parser) -> argparse._ArgumentGroup:
    """What to analyse, and by which rules: the group of these, for more."""
    group = parser.add_argument_group("what to analyse")
    group.add_argument("--run", metavar="NAME", help="the run instead of the newest")
    group.add_argument("--host", metavar="NAME", help="only this host of the run")
    group.add_argument("--steps", type=step_range, metavar="A:B", help="only steps A up to but not B, counted from 0")
    group.add_argument("--params", type=parameter_count, metavar="N", help="model parameters, as 110M or 6.7B")
    group.add_argument("--bandwidth", type=gigabytes_per_second, metavar="GB/S", help="bandwidth between devices")
    rules = parser.add_argument_group("rules")
    rules.add_argument(
        "--rules",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder with more rules, or an installed rule package; may be repeated",
    )
    return rules


def add_identity_options(parser: Parser) -> None:
    """Which baseline a run belongs to."""
    group = parser.add_argument_group("which baseline")
    group.add_argument("--model", metavar="NAME", help="the model, where a store holds several (default)")
    group.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what else must be alike to compare, as batch=256 or precision=bf16; may be repeated",
    )
    group.add_argument(
        "--config", type=Path, metavar="FILE", help="tfadvisor.toml or pyproject.toml instead of the nearest one"
    )


def chosen_run(paths: Sequence[Path], arguments: argparse.Namespace, run: str | None) -> tuple[Run, Options]:
    """The run, and how it is to be analysed; a note where it is one of several. Raises TraceError or UsageError.

    arguments: of a command with reading options, all or some of them.
    """
    from tfadvisor.api import Options  # noqa: PLC0415
    from tfadvisor.xplane.runs import choose_run  # noqa: PLC0415

    options = Options(
        run=run,
        host=arguments.host,
        rules=tuple(getattr(arguments, "rules", ())),
        disabled=tuple(getattr(arguments, "disable", ())),
        parameters=getattr(arguments, "params", None),
        bandwidth_gb_s=getattr(arguments, "bandwidth", None),
        steps=arguments.steps,
        processes=os.cpu_count() or 1,
    )
    chosen, number = choose_run(paths, run, arguments.host)
    if number > 1 and run is None:
        another = " --run NAME for another." if hasattr(arguments, "run") else ""
        note(f"{number:,} runs in {paths[0]}; this is the newest, {chosen.name}.{another}")
    return chosen, options
