"""`tfadvisor rules`: the catalogue on the terminal and as pages, and lint and cases of a rule folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import tfadvisor.metrics  # noqa: F401  (registers every metric, so that rules can be checked)
from tfadvisor.cli.arguments import Parser
from tfadvisor.engine.loading.catalogue import load_catalogue
from tfadvisor.errors import UsageError
from tfadvisor.report.printable import printable


def add_command(commands: argparse._SubParsersAction[Parser]) -> None:
    """Adds `rules` with list, show, check and docs."""
    about = "The rule catalogue: list it, read a rule, check a folder of rules, write a page for each."
    parser = commands.add_parser("rules", help="the rule catalogue", description=about)
    below = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, prog="tfadvisor rules")
    listed = below.add_parser(
        "list", help="one line a rule", description="One line a rule: its id, what it is about, its title."
    )
    listed.set_defaults(call=list_rules)
    shown = below.add_parser(
        "show", help="one rule", description="One rule: why it matters, what it prescribes, and where that comes from."
    )
    shown.set_defaults(call=show_rule)
    shown.add_argument("id", metavar="ID", help="as `tfadvisor rules list` prints it")
    pages = below.add_parser(
        "docs",
        help="a page a rule",
        description="Writes one Markdown page a rule, with its cases, and an index of them.",
    )
    pages.set_defaults(call=write_pages)
    pages.add_argument("--out", type=Path, default=Path("rule-pages"), metavar="DIR", help="where to (rule-pages)")
    for one in (listed, shown, pages):
        one.add_argument(
            "--rules",
            type=Path,
            action="append",
            default=[],
            metavar="DIR",
            help="a folder with more rules, or the name of an installed rule package",
        )
    check = below.add_parser(
        "check", help="lint a folder and run its cases", description="Lint every rule of a folder and run its cases."
    )
    check.set_defaults(call=check_rules)
    check.add_argument("folder", type=Path, metavar="DIR", help="a folder with rule files and their cases")


def list_rules(arguments: argparse.Namespace) -> int:
    """One line a rule."""
    catalogue = load_catalogue(arguments.rules)
    width = max((len(rule.id) for rule in catalogue.rules), default=0)
    for rule in sorted(catalogue.rules, key=lambda rule: (rule.category, rule.id)):
        sys.stdout.write(f"{rule.id:<{width}}  {rule.category:<10}  {printable(rule.title)}\n")
    for error in catalogue.broken:
        sys.stderr.write(f"tfadvisor: {printable(str(error))}\n")
    return 5 if catalogue.broken else 0


def show_rule(arguments: argparse.Namespace) -> int:
    """One rule's page."""
    catalogue = load_catalogue(arguments.rules)
    rule = next((one for one in catalogue.rules if one.id == arguments.id), None)
    if rule is None:
        raise UsageError(f"no rule is called {arguments.id}. `tfadvisor rules list` names them all.")
    lines = [f"{rule.id} ({rule.category})", rule.title, "", rule.why]
    for fix in rule.fixes:
        lines += ["", f"Fix ({fix.kind}): {fix.do}", "", *(f"    {line}" for line in fix.snippet.splitlines())]
        lines.append(f"  Valid for: {fix.valid_for}")
        if fix.side_effect:
            lines.append(f"  Side effect: {fix.side_effect}")
    lines += ["", *(f"Source: {source.doc} {source.section} {source.url}" for source in rule.source)]
    sys.stdout.write(printable("\n".join(lines)) + "\n")
    return 0


def write_pages(arguments: argparse.Namespace) -> int:
    """`<id>.md` for every rule and `index.md`; their number on the terminal."""
    from tfadvisor.engine.checking.rule_page import index_page, whole_page  # noqa: PLC0415  (only this command writes pages)

    catalogue = load_catalogue(arguments.rules)
    pages = {f"{rule.id}.md": whole_page(rule) for rule in catalogue.rules}
    pages["index.md"] = index_page(catalogue.rules)
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (arguments.out / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {arguments.out}: {error.strerror or error}.") from error
    sys.stdout.write(f"{len(catalogue.rules)} pages and index.md in {printable(str(arguments.out))}\n")
    for one in catalogue.broken:
        sys.stderr.write(f"tfadvisor: {printable(str(one))}\n")
    return 5 if catalogue.broken else 0


def check_rules(arguments: argparse.Namespace) -> int:
    """Failures one a line, then the counts."""
    from tfadvisor.engine.checking.cases import check_folder  # noqa: PLC0415  (reads YAML, which listing rules does not need)

    if not arguments.folder.is_dir():
        raise UsageError(f"{arguments.folder}: no such folder.")
    checked = check_folder(arguments.folder)
    for failure in checked.failures:
        sys.stdout.write(printable(failure) + "\n")
    sys.stdout.write(f"{checked.rules} rules, {checked.cases} cases, {len(checked.failures)} failures\n")
    return 5 if checked.failures else 0
