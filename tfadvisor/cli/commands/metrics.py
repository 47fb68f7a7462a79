"""`tfadvisor metrics`: what the metrics of a report mean."""

from __future__ import annotations

from typing import Annotated

import typer

from tfadvisor.cli.outputs import write_out
from tfadvisor.cli.typer_commands import Command, Commands
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="as `tfadvisor metrics list` prints it", show_default=False
    ),
]

app = typer.Typer(
    cls=Commands,
    help="The metrics of a report: list them, explain one.",
    short_help="what a metric means",
    add_completion=False,
)


@app.command("list", cls=Command, short_help="one line per metric")
def list_metrics() -> int:
    """One line per metric: its name, its unit, the first sentence of its definition."""
    from tfadvisor.metrics.registry import registered_metrics

    known = registered_metrics()
    width = max(map(len, known))
    for name in sorted(known):
        write_out(
            f"{name:<{width}}  {known[name].unit.value:<8}  "
            f"{known[name].about.partition('. ')[0].rstrip('.')}\n"
        )
    return 0


@app.command("show", cls=Command, short_help="one metric")
def show_metric(name: Name) -> int:
    """One metric: its definition, its unit, which way is better, how it scatters
    between runs, which rules compare it.
    """
    from tfadvisor.advice.loading.catalogue import load_catalogue
    from tfadvisor.advice.loading.limits import limits_of
    from tfadvisor.metrics.registry import registered_metrics

    known = registered_metrics()
    if name not in known:
        raise UsageError(
            f"no metric is called {name}.{did_you_mean(name, known)} `tfadvisor "
            "metrics list` names them all."
        )
    one = known[name]
    lines = [
        f"{name} ({one.unit.value}; better: {one.better.value}; between runs: "
        f"{one.scatter.value})",
        one.about,
    ]
    for rule in load_catalogue(preview=True).rules:
        bounds = [limit for limit in limits_of(rule) if limit.metric == name]
        lines += [f"  {rule.id} compares it: {limit.words}" for limit in bounds]
    write_out("\n".join(lines) + "\n")
    return 0
