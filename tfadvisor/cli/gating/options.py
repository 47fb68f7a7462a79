"""The options of `tfadvisor gate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tfadvisor.cli.option_values import choice
from tfadvisor.cli.reading_options import BASELINE, OUTPUT
from tfadvisor.gate.outputs.forms import VERDICT_FORMS
from tfadvisor.report.outputs.forms import names_of

_JUDGING, AGAINST = "How to judge", "Against another commit"
Candidates = Annotated[
    list[str] | None,
    typer.Option(
        "--candidates",
        metavar="PATH",
        help="more runs of the same program as PATH: one or several paths",
        readable=False,
        path_type=str,
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="DIR",
        help="the store of earlier runs, or a logdir whose runs serve as such (.tfadvisor/baselines)",
        rich_help_panel=BASELINE,
        readable=False,
        path_type=str,
    ),
]
Branch = Annotated[
    str | None,
    typer.Option(
        "--branch",
        metavar="NAME",
        help="whose runs are the baseline (the branch that is merged into, else this one, else main)",
        show_default=False,
        rich_help_panel=BASELINE,
    ),
]
Preset = Annotated[
    str | None,
    choice("--preset", names=("recommended", "strict", "none"), help="instead of the configuration's", panel=_JUDGING),
]
OnCannotTell = Annotated[
    str | None,
    choice(
        "--on-cannot-tell",
        "--on-inconclusive",
        names=("pass", "warn", "fail"),
        help="if the data do not decide: pass with a notice (the default), warn, or exit with 4 (fail)",
        panel=_JUDGING,
    ),
]
Add = Annotated[
    bool,
    typer.Option("--add", help="add the runs to the baseline unless the gate fails", rich_help_panel=_JUDGING),
]
CheckConfig = Annotated[
    bool,
    typer.Option("--check-config", help="check the configuration and do nothing else", rich_help_panel=_JUDGING),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="REF",
        help="record this commit and what is checked out in turns: -- COMMAND",
        rich_help_panel=AGAINST,
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="how long to record at most, as 90s, 10m or 1h (10m)",
        show_default=False,
        rich_help_panel=AGAINST,
    ),
]
Links = Annotated[
    list[str] | None,
    typer.Option(
        "--link",
        metavar="PATH",
        help="what git does not track and both sides need, as data/; may be repeated",
        rich_help_panel=AGAINST,
    ),
]
Format = Annotated[
    str | None,
    choice("--format", "-f", names=names_of(VERDICT_FORMS), help="format of the verdict (text)", panel=OUTPUT),
]
JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE", help="JUnit XML: a test case per check", rich_help_panel=OUTPUT, readable=False
    ),
]
Sarif = Annotated[
    Path | None,
    typer.Option(
        "--sarif", metavar="FILE", help="SARIF 2.1.0, for code scanning", rich_help_panel=OUTPUT, readable=False
    ),
]
CodeQuality = Annotated[
    Path | None,
    typer.Option(
        "--codequality",
        metavar="FILE",
        help="Code Climate JSON, as GitLab reads it",
        rich_help_panel=OUTPUT,
        readable=False,
    ),
]


Comment = Annotated[
    Path | None,
    typer.Option(
        "--comment",
        metavar="FILE",
        help="Markdown for a comment in a pull request, marked so that the next one replaces it",
        rich_help_panel=OUTPUT,
        readable=False,
    ),
]
Pages = Annotated[
    Path | None,
    typer.Option(
        "--pages",
        metavar="DIR",
        help="pages for a browser: the verdict, the report, and with --against both runs side by side",
        rich_help_panel=OUTPUT,
        readable=False,
    ),
]
