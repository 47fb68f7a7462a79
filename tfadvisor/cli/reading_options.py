"""What is measured: the paths and options that commands share, and the run that they
choose.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from tfadvisor.cli.typer_commands import argument, option
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.report.forms import REPORT_FORMS, names_of

if TYPE_CHECKING:
    from tfadvisor.analysis import Options

WHAT, RULES, OUTPUT = "What to analyse", "Rules", "Output"
"""The panels of --help that options are in."""
BASELINE = "Which baseline"

_TRACE = (
    "a logdir, a run folder, one *.xplane.pb (or .gz), or several hosts' files of "
    "one run; "
    "of this machine, or at gs://, s3://, hf://, hdfs://, https://"
)

Paths = Annotated[list[str], argument("PATH", _TRACE, path_type=str)]
"""As written: a Path would make one slash of an address's two. `places` makes paths of
them.
"""
PathsOrNone = Annotated[list[str] | None, argument("PATH", _TRACE, path_type=str)]
RunName = Annotated[
    list[str] | None,
    option(
        "--run",
        "NAME",
        "the run instead of the newest; repeated, or A,B: several hosts' as one",
        WHAT,
    ),
]
HostName = Annotated[
    str | None, option("--host", "NAME", "only this host of the run", WHAT)
]
Steps = Annotated[
    str | None,
    option("--steps", "A:B", "only steps A up to but not B, counted from 0", WHAT),
]
Params = Annotated[
    str | None, option("--params", "N", "model parameters, e.g. 110M or 6.7B", WHAT)
]
Bandwidth = Annotated[
    str | None, option("--bandwidth", "GB/S", "bandwidth between devices", WHAT)
]
RuleFolders = Annotated[
    list[Path] | None,
    option("--rules", "DIR", "a folder with more rules; may be repeated", RULES),
]
Preview = Annotated[
    bool, option("--preview", "", "also run rules that are not proven yet", RULES)
]
Disabled = Annotated[
    list[str] | None,
    option("--disable", "ID", "a rule to leave out; may be repeated", RULES),
]
Output = Annotated[
    Path | None,
    option(
        "--output -o",
        "FILE",
        "write to a file instead of standard output; the suffix sets the format",
        OUTPUT,
    ),
]
Model = Annotated[
    str | None,
    option(
        "--model", "NAME", "the model, where a store holds several (default)", BASELINE
    ),
]
Store = Annotated[
    str | None,
    option(
        "--store", "DIR", "the store (.tfadvisor/baselines)", BASELINE, path_type=str
    ),
]
Labels = Annotated[
    list[str] | None,
    option(
        "--label",
        "NAME=VALUE",
        "only compare runs with the same NAME=VALUE, e.g. batch=256; may be repeated",
        BASELINE,
    ),
]
Config = Annotated[
    Path | None,
    option(
        "--config",
        "FILE",
        "tfadvisor.toml or pyproject.toml instead of the nearest one",
        BASELINE,
    ),
]

_WHERE = "Execution"
Workers = Annotated[
    int | None,
    option("--workers", "N", "local worker processes (default: one per core)", _WHERE),
]


def processes(workers: int | None) -> int:
    """How many read at once: one a core, else as --workers says. Raises UsageError for
    what cannot be.
    """
    if workers is not None and not 1 <= workers <= 1024:
        raise UsageError(f"--workers {workers}: give a number from 1 to 1,024.")
    return workers or os.cpu_count() or 1


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of which run, and with which rules, as the options of a command say
    it.
    """

    run: RunName = None
    host: HostName = None
    steps: Steps = None
    params: Params = None
    bandwidth: Bandwidth = None
    rules: RuleFolders = None
    disable: Disabled = None
    preview: Preview = False

    def options(self) -> Options:
        """How a run is to be read. Raises UsageError for what options cannot be."""
        steps = step_range(self.steps) if self.steps is not None else None
        parameters = parameter_count(self.params) if self.params is not None else None
        bandwidth = (
            gigabytes_per_second(self.bandwidth) if self.bandwidth is not None else None
        )
        from tfadvisor.analysis import Options  # imports NumPy, which no --help needs

        return Options(
            run=",".join(self.run) if self.run else None,
            host=self.host,
            rules=tuple(self.rules or ()),
            disabled=tuple(self.disable or ()),
            parameters=parameters,
            bandwidth_gb_s=bandwidth,
            steps=steps,
            processes=os.cpu_count() or 1,
            preview=self.preview,
        )


# Values of options as they are written: `110M`, `2:8`, one of several names.

_COUNT = re.compile(r"^(\d{1,18}(?:\.\d{1,18})?)\s*([kKmMbBgGtT]?)$")
_THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}


def parameter_count(text: str) -> int:
    """`110M`, `6.7B` or `6,700,000,000`. Raises UsageError for anything else."""
    match = _COUNT.match(text.replace(",", "").replace("_", ""))
    if not match or float(match.group(1)) <= 0:
        raise UsageError(
            f"--params {text}: give a number of parameters, e.g. 110M or 6700000000."
        )
    return round(float(match.group(1)) * _THOUSANDS[match.group(2).lower()])


def gigabytes_per_second(text: str) -> float:
    """A positive number. Raises UsageError for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UsageError(f"--bandwidth {text}: give GB/s above 0.")
    return value


_TIME = re.compile(r"^(\d{1,9}(?:\.\d{1,9})?)\s*(s|m|min|h|)$")
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


def seconds_in(text: str) -> float:
    """`90s`, `10m`, `1h` or seconds. Raises UsageError for anything else."""
    match = _TIME.match(text.strip())
    if match is None or float(match[1]) <= 0:
        raise UsageError(f"--budget {text}: give a time, e.g. 90s, 10m or 1h.")
    return float(match[1]) * _SECONDS[match[2]]


def step_range(text: str) -> tuple[int, int]:
    """`2:8`, `2:` or `:8`; the last step is not included. Raises UsageError for
    anything else.
    """
    match = re.match(r"^(\d{1,18})?:(\d{1,18})?$", text)
    if not match:
        raise UsageError(f"--steps {text}: give a range as 2:8, 2: or :8.")
    first, last = match.groups()
    return int(first or 0), int(last) if last else 1 << 62


def listed(names: Sequence[str]) -> str:
    """`text, json or html`."""
    return (
        f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)
    )


def choice(
    *flags: str,
    names: Sequence[str],
    metavar: str,
    help: str,
    panel: str | None = None,
    usual: str = "",
) -> Any:
    """An option of Typer that takes one of these names. Any other raises UsageError and
    says which was meant.

    The names stand in the help, since a metavar that is too wide is broken anywhere.
    usual: what it is where nobody says, if Typer does not show it.
    """

    def checked(context: typer.Context, value: str | None) -> str | None:
        if value is None or value in names or context.resilient_parsing:
            return value
        raise UsageError(
            f"{flags[0]} {value}: choose {listed(names)}.{did_you_mean(value, names)}"
        )

    default = f" ({usual})" if usual else ""
    return typer.Option(
        *flags,
        metavar=metavar,
        help=f"{help}: {listed(names)}{default}",
        callback=checked,
        rich_help_panel=panel,
    )


def one_format(names: Sequence[str], help: str, panel: str | None = OUTPUT) -> Any:
    """The option that chooses the form of an output; the first is the usual one."""
    return choice(
        *("--format", "-f"),
        names=names,
        metavar="FORM",
        help=help,
        panel=panel,
        usual=names[0],
    )


ReportFormat = Annotated[
    str | None, one_format(names_of(REPORT_FORMS), "format of the report")
]
Details = Annotated[
    bool, option("--details", "", "text: every finding, fix, metric and step", OUTPUT)
]
