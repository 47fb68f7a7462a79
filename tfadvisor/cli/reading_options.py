"""What is measured: the paths and options that commands share, and the run that they choose."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfadvisor.advice.loading.limits import LimitChange
from tfadvisor.cli.outputs import note
from tfadvisor.cli.typer_commands import host_names, rule_ids, run_names
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.trace.remote_path import place_of

if TYPE_CHECKING:
    from tfadvisor.analysis import Options
    from tfadvisor.timeline.run.one_host import Engine
    from tfadvisor.trace.runs import Run

WHAT, RULES, OUTPUT = "What to analyse", "Rules", "Output"
"""The panels of --help that options stand in."""
BASELINE = "Which baseline"
_CONFIGURATIONS = ("tfadvisor.toml", "pyproject.toml")

_TRACE = (
    "a logdir, a run folder, one *.xplane.pb (or .gz), or several hosts' files of one run; "
    "of this machine, or at gs://, s3://, hf://, hdfs://, https://"
)

Paths = Annotated[
    list[str], typer.Argument(metavar="PATH", help=_TRACE, show_default=False, readable=False, path_type=str)
]
"""As written: a Path would make one slash of an address's two. `places` makes paths of them."""
PathsOrNone = Annotated[
    list[str] | None, typer.Argument(metavar="PATH", help=_TRACE, show_default=False, readable=False, path_type=str)
]
RunName = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="NAME",
        help="the run instead of the newest; A,B for several as one",
        autocompletion=run_names,
        rich_help_panel=WHAT,
    ),
]
HostName = Annotated[
    str | None,
    typer.Option(
        "--host", metavar="NAME", help="only this host of the run", autocompletion=host_names, rich_help_panel=WHAT
    ),
]
Steps = Annotated[
    str | None,
    typer.Option("--steps", metavar="A:B", help="only steps A up to but not B, counted from 0", rich_help_panel=WHAT),
]
Params = Annotated[
    str | None,
    typer.Option("--params", metavar="N", help="model parameters, as 110M or 6.7B", rich_help_panel=WHAT),
]
Bandwidth = Annotated[
    str | None, typer.Option("--bandwidth", metavar="GB/S", help="bandwidth between devices", rich_help_panel=WHAT)
]
RuleFolders = Annotated[
    list[Path] | None,
    typer.Option(
        "--rules",
        metavar="DIR",
        help="a folder with more rules, or an installed rule package; may be repeated",
        rich_help_panel=RULES,
        readable=False,
    ),
]
Preview = Annotated[
    bool,
    typer.Option("--preview", help="also run rules that are not proven yet", rich_help_panel=RULES),
]
Disabled = Annotated[
    list[str] | None,
    typer.Option(
        "--disable",
        metavar="ID",
        help="a rule to leave out; may be repeated",
        autocompletion=rule_ids,
        rich_help_panel=RULES,
    ),
]
SetLimits = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="RULE.LIMIT=VALUE",
        help="override a threshold of a rule, as `tfadvisor rules show RULE` lists it; may be repeated",
        rich_help_panel=RULES,
    ),
]
RulesConfig = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="read rule thresholds (`rules`) and what to ignore from FILE (default: nearest tfadvisor.toml or pyproject.toml)",
        rich_help_panel=RULES,
        readable=False,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="write to a file instead of standard output; the suffix sets the format",
        rich_help_panel=OUTPUT,
        readable=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME", help="the model, where a store holds several (default)", rich_help_panel=BASELINE
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="NAME=VALUE",
        help="only compare runs with the same NAME=VALUE, e.g. batch=256; may be repeated",
        rich_help_panel=BASELINE,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="tfadvisor.toml or pyproject.toml instead of the nearest one",
        rich_help_panel=BASELINE,
        readable=False,
    ),
]

_WHERE = "Execution"
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", help="local worker processes (default: one per core)", rich_help_panel=_WHERE
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="address of a Dask scheduler whose workers can reach the files, e.g. tcp://10.0.0.1:8786",
        rich_help_panel=_WHERE,
    ),
]


@contextmanager
def engine_of(workers: int | None, scheduler: str | None) -> Iterator[Engine]:
    """Who does work that is the same for many files. Raises UsageError for what cannot be, ClusterError."""
    if workers is not None and scheduler is not None:
        raise UsageError("--workers is for this machine and --scheduler for a cluster. Give one of them.")
    if workers is not None and not 1 <= workers <= 1024:
        raise UsageError(f"--workers {workers}: give a number from 1 to 1,024.")
    if scheduler is None:
        from tfadvisor.fleet.engines.local import LocalProcesses

        yield LocalProcesses(workers or os.cpu_count() or 1)
        return
    from tfadvisor.fleet.engines.dask import dask_cluster

    with dask_cluster(scheduler) as engine:
        yield engine


@contextmanager
def hosts_read_by(workers: int | None, scheduler: str | None, options: Options) -> Iterator[Options]:
    """The options with who reads a run's hosts. Raises as engine_of."""
    from msgspec.structs import replace

    with engine_of(workers, scheduler) as engine:
        if scheduler is not None:
            yield replace(options, engine=engine)
        else:
            yield options if workers is None else replace(options, processes=workers)


def places(given: Sequence[str] | None) -> list[Path]:
    """Paths of this machine and addresses. Raises UsageError for an address that is not taken."""
    return [place_of(one) for one in given or ()]


def reading(
    *,
    run: str | None = None,
    host: str | None = None,
    steps: str | None = None,
    params: str | None = None,
    bandwidth: str | None = None,
    rules: Sequence[Path] | None = None,
    disabled: Sequence[str] | None = None,
    config: Path | None = None,
    limits: Sequence[str] | None = None,
    preview: bool = False,
) -> Options:
    """How a run is to be read, from the options as they were written. Raises UsageError for what they cannot be.

    config: the project's configuration, else the nearest one counts. limits: of --set, which win over it.
    """
    chosen_steps = step_range(steps) if steps is not None else None
    parameters = parameter_count(params) if params is not None else None
    bandwidth_gb_s = gigabytes_per_second(bandwidth) if bandwidth is not None else None
    changes = tuple(map(limit_change, limits or ()))
    from tfadvisor.analysis import Options  # imports NumPy, which no --help needs

    return Options(
        run=run,
        host=host,
        rules=tuple(rules or ()),
        disabled=tuple(disabled or ()),
        parameters=parameters,
        bandwidth_gb_s=bandwidth_gb_s,
        steps=chosen_steps,
        processes=os.cpu_count() or 1,
        limits=(*_limits_of_project(config), *changes),
        preview=preview,
    )


def configurations_above() -> bool:
    """Whether this folder or one above it holds a file that may be a configuration."""
    here = Path.cwd()
    return any((one / name).is_file() for one in (here, *here.parents) for name in _CONFIGURATIONS)


def _limits_of_project(config: Path | None) -> tuple[LimitChange, ...]:
    """The gate's settings are loaded only where a file may hold some. Raises UsageError for one that is no TOML."""
    if config is None and not configurations_above():
        return ()
    from tfadvisor.comparison.gate.config import limits_of_project

    return limits_of_project(config)


def chosen_run(paths: Sequence[Path], options: Options, another: str = " --run NAME for another.") -> Run:
    """The run that is to be read; a note where it is the newest of several. Raises TraceError or UsageError.

    another: how to choose another, for the note.
    """
    from tfadvisor.trace.runs import choose_run

    chosen, number = choose_run(paths, options.run, options.host)
    if number > 1 and options.run is None:
        note(f"{number:,} runs in {paths[0]}; this is the newest, {chosen.name}.{another}")
    return chosen


# Values of options as they are written: `110M`, `2:8`, one of several names.

_COUNT = re.compile(r"^(\d+(?:\.\d+)?)\s*([kKmMbBgGtT]?)$")
_THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}


def parameter_count(text: str) -> int:
    """`110M`, `6.7B` or `6,700,000,000`. Raises UsageError for anything else."""
    match = _COUNT.match(text.replace(",", "").replace("_", ""))
    if not match or float(match.group(1)) <= 0:
        raise UsageError(f"--params {text}: give a number of parameters, as 110M or 6700000000.")
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


def limit_change(text: str) -> LimitChange:
    """`RULE.LIMIT=VALUE`. Raises UsageError for what is not of this form; whether there is such a limit is seen later."""
    name, equals, value = text.partition("=")
    rule, dot, limit = name.strip().partition(".")
    if not (rule and dot and limit and equals and value.strip()):
        raise UsageError(f"--set {text}: give RULE.LIMIT=VALUE, as input-made-in-loop.batch_python_fraction=40%.")
    return LimitChange(rule, limit, value.strip(), f"--set {text}")


def step_range(text: str) -> tuple[int, int]:
    """`2:8`, `2:` or `:8`; the last step is not included. Raises UsageError for anything else."""
    match = re.match(r"^(\d+)?:(\d+)?$", text)
    if not match:
        raise UsageError(f"--steps {text}: give a range as 2:8, 2: or :8.")
    first, last = match.groups()
    return int(first or 0), int(last) if last else 1 << 62


def choice(*flags: str, names: Sequence[str], help: str, panel: str | None = None) -> Any:
    """An option of Typer that takes one of these names. Any other raises UsageError and says which was meant."""

    def checked(context: typer.Context, value: str | None) -> str | None:
        if value is None or value in names or context.resilient_parsing:
            return value
        raise UsageError(f"{flags[0]} {value}: choose {listed(names)}.{did_you_mean(value, names)}")

    def completed() -> list[str]:
        return list(names)

    return typer.Option(
        *flags, metavar="|".join(names), help=help, callback=checked, autocompletion=completed, rich_help_panel=panel
    )


def listed(names: Sequence[str]) -> str:
    """`text, json or html`."""
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)
