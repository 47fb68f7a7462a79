"""Writes the reference pages from the code: metrics, rules, columns, commands.

python docs/generate.py           write them
python docs/generate.py --check   fail when a page is not what it would write
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import tfadvisor.metrics  # noqa: F401  (registers every metric)
from tfadvisor.cli.main import parser
from tfadvisor.engine.catalogue import load_catalogue
from tfadvisor.engine.rule import Rule
from tfadvisor.metrics.registry import registered_facts, registered_metrics
from tfadvisor.record import fields_of
from tfadvisor.xplane import columns

PAGES = Path(__file__).parent / "reference"
NOTE = "<!-- written by docs/generate.py; edit the code instead -->\n\n"


def main(check: bool) -> int:
    """0 when all pages are written, or with --check already are what they should be."""
    stale = []
    for name, text in {
        "metrics.md": metrics(),
        "rules.md": rules(),
        "columns.md": tables(),
        "command.md": command(),
    }.items():
        page = PAGES / name
        if check and (not page.exists() or page.read_text(encoding="utf-8") != text):
            stale.append(page.name)
        elif not check:
            page.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"docs/reference/{name} is not what the code says: run python docs/generate.py", file=sys.stderr)
    return 1 if stale else 0


def metrics() -> str:
    """Every metric with unit and definition, every fact."""
    rows = [f"| `{one.name}` | {one.unit.value} | {one.about} |" for one in registered_metrics().values()]
    facts = [f"| `{one.name}` | {one.about} |" for one in registered_facts().values()]
    return (
        f"{NOTE}# Metrics\n\nA metric that a trace cannot give is `null` in the report, with the reason. "
        "Shares are of step time, start of a step to start of the next, over the steps that count.\n\n"
        "| metric | unit | definition |\n|---|---|---|\n"
        + "\n".join(rows)
        + "\n\n## Facts\n\nTexts that rules quote and compare.\n\n| fact | meaning |\n|---|---|\n"
        + "\n".join(facts)
        + "\n"
    )


def rules() -> str:
    """Every rule: why, fixes, sources."""
    catalogue = load_catalogue()
    parts = [f"{NOTE}# Rules\n\nWhat tfadvisor looks for, by category. `tfadvisor rules show ID` prints one.\n"]
    for category in sorted({rule.category for rule in catalogue.rules}):
        parts.append(f"\n## {category}\n")
        parts += [rule_page(rule) for rule in catalogue.rules if rule.category == category]
    return "\n".join(parts)


def rule_page(rule: Rule) -> str:
    """One rule's part of the page."""
    lines = [f"### {rule.id}", "", f"**{rule.title}.** {rule.why.strip()}", ""]
    for fix in rule.fixes:
        lines += [
            f"{fix.do} _({fix.valid_for})_",
            "",
            "```python" if fix.kind == "code" else "```sh",
            fix.snippet.rstrip(),
            "```",
            "",
        ]
        if fix.side_effect:
            lines += [f"Side effect: {fix.side_effect}", ""]
    lines.append("Source: " + ", ".join(f"[{source.section}]({source.url})" for source in rule.source) + "\n")
    return "\n".join(lines)


def tables() -> str:
    """The decoder's tables, field by field, as their docstrings describe them."""
    parts = [
        f"{NOTE}# Columns\n\nWhat the decoder returns. `tfadvisor.open(path).events()` gives pandas frames of them.\n"
    ]
    for table in (columns.HostTrace, columns.Plane, columns.Lines, columns.Events, columns.Names, columns.StatColumn):
        about = inspect.cleandoc(table.__doc__ or "")
        fields = [f"| `{name}` | `{kind}` |" for name, kind in table.__annotations__.items()]
        parts.append(f"\n## {table.__name__}\n\n{about}\n\n| field | type |\n|---|---|\n" + "\n".join(fields) + "\n")
        assert fields and about and fields_of(object.__new__(table))
    return "".join(parts)


def command() -> str:
    """Every command, its arguments and options; argparse lays its help out differently in every Python."""
    return f"{NOTE}# Command line\n" + "".join(command_part(parser(), "tfadvisor", "##"))


def command_part(one: argparse.ArgumentParser, name: str, mark: str) -> Iterator[str]:
    """One command's part of the page, then those of the commands below it."""
    below = [action for action in one._actions if isinstance(action, argparse._SubParsersAction)]
    rows = [f"| `{called(action)}` | {action.help or ''} |" for action in one._actions if action not in below]
    yield f"\n{mark} {name}\n\n{(one.description or '').strip()}\n\n| argument | meaning |\n|---|---|\n"
    yield "\n".join(rows) + "\n"
    if one.epilog:
        yield f"\n```\n{one.epilog.strip()}\n```\n"
    for action in below:
        for word, parser_below in action.choices.items():
            yield from command_part(parser_below, f"{name} {word}", mark if name == "tfadvisor" else mark + "#")


def called(action: argparse.Action) -> str:
    """How an argument is given: `--run NAME`, `--format text|json`, or `PATH`."""
    options = ", ".join(action.option_strings)
    if action.nargs == 0:
        return options
    value = action.metavar or "|".join(str(one) for one in action.choices or ())
    return f"{options} {value or action.dest}".replace("|", "\\|").strip()


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
