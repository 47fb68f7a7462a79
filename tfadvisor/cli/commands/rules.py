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
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.files import replace_file
from tfadvisor.printable import printable

if TYPE_CHECKING:
    from tfadvisor.advice.loading.catalogue import Catalogue
    from tfadvisor.advice.loading.rule import Rule

Folders = Annotated[
    list[Path] | None,
    option("--rules", "DIR", "a folder with more rules; may be repeated"),
]
RuleId = Annotated[str, argument("ID", "as `tfadvisor rules list` prints it")]
PagesFolder = Annotated[
    Path, option("--out", "DIR", "where to (rule-pages)", show_default=False)
]
CheckedFolder = Annotated[
    Path, argument("DIR", "a folder with rule files and their cases")
]

app = typer.Typer(
    cls=Commands,
    help="The rule catalogue: list it, read a rule, check a folder of rules, write a page "
    "for each.",
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


@app.command("show", cls=Command, short_help="one rule")
def show_rule(rule_id: RuleId, rules: Folders = None) -> int:
    """One rule: why it matters, what it prescribes, the numbers that can be set, and
    where all that comes from.
    """
    catalogue = _catalogue(rules)
    rule = next((one for one in catalogue.rules if one.id == rule_id), None)
    if rule is None:
        meant = did_you_mean(rule_id, [one.id for one in catalogue.rules])
        raise UsageError(
            f"no rule is called {rule_id}.{meant} `tfadvisor rules list` names them "
            "all."
        )
    lines = [
        f"{rule.id} ({rule.category}, {rule.tier}, {rule.proof})",
        rule.title,
        "",
        rule.why,
    ]
    if rule.ask:
        lines += ["", f"Asks: {rule.ask}"]
    for fix in rule.fixes:
        lines += [
            "",
            f"Fix ({fix.kind}): {fix.do}",
            "",
            *(f"    {line}" for line in fix.snippet.splitlines()),
        ]
        lines.append(f"  Valid for: {fix.valid_for}")
        if fix.side_effect:
            lines.append(f"  Side effect: {fix.side_effect}")
    lines += ["", *_limit_lines(rule)]
    lines += [
        "",
        *(
            f"Source: {source.doc} {source.section} {source.url}"
            for source in rule.source
        ),
    ]
    lines += [f"Confirmed by: {one}" for one in rule.confirmed]
    write_out(printable("\n".join(lines)) + "\n")
    return 0


@app.command("docs", cls=Command, short_help="a page per rule")
def write_pages(out: PagesFolder = Path("rule-pages"), rules: Folders = None) -> int:
    """Writes one Markdown page per rule, with its cases, and an index of them."""
    from tfadvisor.advice.checking.rule_page import (
        index_page,
        rule_page,
    )  # only this command writes pages

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
    from tfadvisor.advice.checking.cases import (
        check_folder,
    )  # reads YAML, which listing rules does not need
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


def _limit_lines(rule: Rule) -> list[str]:
    """The rule's numbers: name, unit, meaning, reason."""
    from tfadvisor.advice.loading.limits import limits_of
    from tfadvisor.metrics.registry import registered_metrics

    limits = limits_of(rule)
    if not limits:
        return ["It compares no metric with a number, so it has no limit."]
    lines = ["Limits:"]
    for one in limits:
        about = registered_metrics()[one.metric].about
        lines += [f"  {one.name}  {one.words} ({one.unit.value})", f"      {about}"]
        lines += [f"      Because {one.because}"] if one.because else []
    return lines


def _catalogue(folders: Sequence[Path] | None) -> Catalogue:
    from tfadvisor.advice.loading.catalogue import load_catalogue

    return load_catalogue(folders or (), preview=True)


def _tell_broken(catalogue: Catalogue) -> int:
    """The exit code."""
    for error in catalogue.broken:
        note(str(error))
    return 5 if catalogue.broken else 0
