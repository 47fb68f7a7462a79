"""`tfadvisor rules`: the catalogue on the terminal, and lint and cases of a rule folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import tfadvisor.metrics  # noqa: F401  (registers every metric, so that rules can be checked)
from tfadvisor.engine.cases import check_folder
from tfadvisor.engine.catalogue import load_catalogue
from tfadvisor.errors import UsageError
from tfadvisor.report.printable import printable

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The rule catalogue: list it, read a rule, check a folder of rules.",
)
_Folders = Annotated[
    list[Path] | None, typer.Option("--rules", help="A folder with more rules; may be repeated.", metavar="DIR")
]


@app.command("list")
def list_rules(rules: _Folders = None) -> int:
    """One line a rule: its id, what it is about, its title."""
    catalogue = load_catalogue(tuple(rules or ()))
    width = max((len(rule.id) for rule in catalogue.rules), default=0)
    for rule in sorted(catalogue.rules, key=lambda rule: (rule.category, rule.id)):
        typer.echo(f"{rule.id:<{width}}  {rule.category:<10}  {printable(rule.title)}")
    for error in catalogue.broken:
        sys.stderr.write(f"tfadvisor: {printable(str(error))}\n")
    return 5 if catalogue.broken else 0


@app.command("show")
def show_rule(rule_id: Annotated[str, typer.Argument(metavar="ID")], rules: _Folders = None) -> int:
    """One rule: why it matters, when it fires, what it prescribes, and where that comes from."""
    catalogue = load_catalogue(tuple(rules or ()))
    rule = next((one for one in catalogue.rules if one.id == rule_id), None)
    if rule is None:
        raise UsageError(f"no rule is called {rule_id}. `tfadvisor rules list` names them all.")
    typer.echo(f"{rule.id} ({rule.category})\n{printable(rule.title)}\n\n{printable(rule.why)}")
    for fix in rule.fixes:
        typer.echo(f"\nFix ({fix.kind}): {printable(fix.do)}\n")
        typer.echo("\n".join(f"    {line}" for line in printable(fix.snippet).splitlines()))
        typer.echo(f"  Valid for: {printable(fix.valid_for)}")
        if fix.side_effect:
            typer.echo(f"  Side effect: {printable(fix.side_effect)}")
    typer.echo("")
    for source in rule.source:
        typer.echo(f"Source: {source.doc} {source.section} {source.url}")
    return 0


@app.command("check")
def check_rules(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with rule files and their cases.")],
) -> int:
    """Lint every rule of a folder and run its cases."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder.")
    checked = check_folder(folder)
    for failure in checked.failures:
        typer.echo(printable(failure))
    typer.echo(f"{checked.rules} rules, {checked.cases} cases, {len(checked.failures)} failures")
    return 5 if checked.failures else 0
