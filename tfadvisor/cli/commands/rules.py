"""`tfadvisor rules`: the catalogue on the terminal and as pages, and lint and cases of
a rule folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfadvisor.cli.outputs import note, write_out
from tfadvisor.cli.typer_commands import Command, Commands, argument, option
from tfadvisor.errors import UsageError
from tfadvisor.files import replace_file
from tfadvisor.printable import printable

if TYPE_CHECKING:
    from tfadvisor.advice.loading.catalogue import Catalogue

Folders = Annotated[
    list[Path] | None,
    option("--rules", "DIR", "a folder with more rules; may be repeated"),
]
PagesFolder = Annotated[
    Path, option("--out", "DIR", "where to (rule-pages)", show_default=False)
]
CheckedFolder = Annotated[
    Path, argument("DIR", "a folder with rule files and their cases")
]

app = typer.Typer(
    cls=Commands,
    help="The rule catalogue: list it, check a folder of rules, write a page for each. "
    "`tfadvisor explain ID` prints one.",
    short_help="the rule catalogue",
    add_completion=False,
)


@app.command("list", cls=Command, short_help="one line per rule")
def list_rules(rules: Folders = None) -> int:
    """One line per rule: its id, tier, proof, what it is about, its title."""
    catalogue = _catalogue(rules)
    width = max((len(rule.id) for rule in catalogue.rules), default=0)
    for rule in sorted(catalogue.rules, key=lambda rule: (rule.category, rule.id)):
        write_out(
            f"{rule.id:<{width}}  {rule.tier:<7}  {rule.proof:<10}  "
            f"{rule.category:<10}  {printable(rule.title)}\n"
        )
    return _tell_broken(catalogue)


@app.command("docs", cls=Command, short_help="a page per rule")
def write_pages(out: PagesFolder = Path("rule-pages"), rules: Folders = None) -> int:
    """Writes one Markdown page per rule, with its cases, and an index of them."""
    # only this command writes pages
    from tfadvisor.advice.checking.rule_page import index_page, rule_page

    catalogue = _catalogue(rules)
    pages = {f"{rule.id}.md": rule_page(rule, "#") for rule in catalogue.rules}
    pages["index.md"] = index_page(catalogue.rules)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            replace_file(out / name, text)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror or error}.") from error
    write_out(f"{len(catalogue.rules)} pages and index.md in {printable(str(out))}\n")
    return _tell_broken(catalogue)


@app.command("check", cls=Command, short_help="lint a folder and run its cases")
def check_rules(folder: CheckedFolder) -> int:
    """Lint every rule of a folder and run its cases."""
    # reads YAML, which listing rules does not need
    from tfadvisor.advice.checking.cases import check_folder
    from tfadvisor.units import counted

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder.")
    checked = check_folder(folder)
    for failure in checked.failures:
        write_out(printable(failure) + "\n")
    found = (
        (checked.rules, "rule"),
        (checked.cases, "case"),
        (len(checked.failures), "failure"),
    )
    write_out(
        ", ".join(counted(str(number), name, f"{name}s") for number, name in found)
        + "\n"
    )
    return 5 if checked.failures else 0


def _catalogue(folders: Sequence[Path] | None) -> Catalogue:
    from tfadvisor.advice.loading.catalogue import load_catalogue

    return load_catalogue(folders or (), preview=True)


def _tell_broken(catalogue: Catalogue) -> int:
    """The exit code."""
    for error in catalogue.broken:
        note(str(error))
    return 5 if catalogue.broken else 0
