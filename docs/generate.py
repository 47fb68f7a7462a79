"""Writes from the code: the reference pages (metrics, rules, columns, commands, flags,
tables of an export, fields of the report), the JSON Schemas, the types, words and
colours of the HTML page, and the picture of the packages.

python docs/generate.py           write them
python docs/generate.py --check   fail when a page is not what it would write
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import config_schema
import typer.main
from draw_packages import picture
from json_schemas import schemas
from page_types import page_colours, page_types, page_words
from report_fields import fields_page

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.explaining import glossary
from tfadvisor.advice.flags.advice import Variable, advice, variables
from tfadvisor.advice.flags.recorded import recording
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.cli.typer_app import app
from tfadvisor.metrics.registry import registered_facts, registered_metrics
from tfadvisor.trace import columns

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "reference"
NOTE = "<!-- written by docs/generate.py; edit the code instead -->\n\n"


def main(check: bool) -> int:
    """0 when all pages are written, or with --check already are what they should be."""
    written = {
        "metrics.md": metrics(),
        "rules.md": rules(),
        "columns.md": tables(),
        "command.md": command(),
        "flags.md": flags(),
        "report.md": report(),
        "../glossary.md": f"{NOTE}{glossary.text()}",
        "../architecture/packages.svg": picture(),
        "../../web/src/data/generated.ts": page_types(),
        "../../web/src/data/generated.css": page_colours(),
        "../../web/test/generated_words.ts": page_words(),
        **{f"../../schemas/{name}": text for name, text in schemas().items()},
        f"../../schemas/{config_schema.NAME}": config_schema.config_schema(),
    }
    stale = []
    for name, text in written.items():
        page = PAGES / name
        if check and (not page.exists() or page.read_text(encoding="utf-8") != text):
            stale.append(page)
        elif not check:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text, encoding="utf-8")
    for page in stale:
        shown = page.resolve().relative_to(ROOT)
        print(
            f"{shown} is not what the code says: run python docs/generate.py",
            file=sys.stderr,
        )
    return 1 if stale else 0


def metrics() -> str:
    """Every metric with unit and definition, every fact."""
    rows = [
        f"| `{metric.name}` | {metric.unit.value} | {metric.better.value} | {metric.about} |"
        for metric in registered_metrics().values()
    ]
    facts = [
        f"| `{fact.name}` | {fact.about} |" for fact in registered_facts().values()
    ]
    return (
        f"{NOTE}# Metrics\n\nA metric that a trace cannot give is `null` in the "
        "report, with the reason. "
        "Shares are of step time, start of a step to start of the next, over the "
        "steps that count. *Better* says which way a "
        "metric improves; `neither` describes the run.\n\n"
        "| metric | unit | better | definition |\n|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n\n## Facts\n\nTexts that rules quote and compare.\n\n| fact | meaning |\n"
        "|---|---|\n" + "\n".join(facts) + "\n"
    )


def rules() -> str:
    """All rules by category, each linked to its file, which the site shows as a page.
    An id is an anchor too.
    """
    catalogue = load_catalogue(preview=True)
    files = {
        file.stem: file.relative_to(ROOT).as_posix()
        for file in (ROOT / "rules").rglob("*.yaml")
    }
    parts = [
        f"{NOTE}# Rules\n\nWhat tfadvisor looks for, by category. `tfadvisor "
        "explain ID` prints why one matters, when "
        "it fires and what to change; the site has a page for each, with the cases "
        "that test it.\n"
    ]
    for category in sorted({rule.category for rule in catalogue.rules}):
        parts.append(f"\n## {category}\n\n| rule | what is wrong |\n|---|---|")
        parts += [
            f'| <a id="{rule.id}"></a>[{rule.id}](../../{files[rule.id]}) | '
            f"{rule.title}{' (preview)' if rule.is_preview else ''} |"
            for rule in catalogue.rules
            if rule.category == category
        ]
    return "\n".join(parts) + "\n"


def tables() -> str:
    """The decoder's tables, field by field, as their docstrings describe them."""
    parts = [
        f"{NOTE}# Columns\n\nWhat the decoder returns. "
        "`tfadvisor.open(path).events()` gives pandas frames of them.\n"
    ]
    for table in (
        columns.HostTrace,
        columns.Plane,
        columns.Lines,
        columns.Events,
        columns.Names,
        columns.StatColumn,
    ):
        about = inspect.cleandoc(table.__doc__ or "")
        fields = [
            f"| `{name}` | `{kind}` |" for name, kind in table.__annotations__.items()
        ]
        parts.append(
            f"\n## {table.__name__}\n\n{about}\n\n| field | type |\n|---|---|\n"
            + "\n".join(fields)
            + "\n"
        )
        assert fields and about and table.__struct_fields__
    return "".join(parts)


def report() -> str:
    """Every field of the JSON report, from its schema."""
    return (
        f"{NOTE}# The JSON report\n\nWhat `tfadvisor analyze PATH --format json` "
        "writes, `tfadvisor.analyze(path).to_dict()` "
        "gives and the tab's route `report` serves. Its schema for machines is "
        "[`schemas/report-1.json`](../../schemas/report-1.json). Under the same "
        "`schema_version` fields are added, never "
        "renamed or removed. Times are in ms, shares from 0 to 1; numbers are "
        "finite, and what is not known is `null`, with "
        "the reason beside it where it is a metric. Texts come from the trace as "
        "they are: never take them for markup.\n"
        + fields_page(schemas()["report-1.json"])
    )


def command() -> str:
    """Every command, its arguments and options, from the Typer app."""
    top = typer.main.get_command(app)
    return f"{NOTE}# Command line\n" + "".join(
        command_part(top, typer.Context(top, info_name="tfadvisor"), "##")
    )


def command_part(one: Any, context: typer.Context, mark: str) -> Iterator[str]:
    """One command's part of the page, then those of the commands below it."""
    rows = ["| `-h, --help` | show this help |"]
    rows += [f"| `{called(param)}` | {param.help or ''} |" for param in one.params]
    yield f"\n{mark} {context.command_path}\n\n{one.help}\n\n| argument | meaning |\n|---|---|\n"
    yield "\n".join(rows) + "\n"
    if one.examples:
        yield f"\n```\n{one.examples.strip()}\n```\n"
    for name in one.list_commands(context) if hasattr(one, "list_commands") else ():
        below = one.get_command(context, name)
        deeper = mark if mark == "##" and context.parent is None else mark + "#"
        yield from command_part(
            below, typer.Context(below, info_name=name, parent=context), deeper
        )


def flags() -> str:
    """What `tfadvisor flags check` knows: where each flag's record comes from, and all
    that was written by hand.
    """
    record, known = recording(), advice()
    tables = [
        f"| `{table.variable}` | {table.title} | {len(table.periods)} | "
        f"{', '.join(table.versions)} |"
        for table in record.tables
    ]
    renames = [
        f"| `{rename.old}` | `{rename.new}` | {values_of(rename.values)} |"
        for rename in known.renames
    ]
    gone = [
        f"| `{flag}` | {why} | [source]({source}) |"
        for flag, (why, source) in known.gone.items()
    ]
    passes = [
        f"| {one.title} | `{'`, `'.join(one.names)}` | {one.cost} |"
        for one in known.passes
    ]
    harm = [
        f"| `{flag}` | "
        f"{'any' if danger.values is None else ', '.join(value or 'empty' for value in danger.values)} "
        f"| {danger.text} |"
        for flag, dangers in known.dangers.items()
        for danger in dangers
    ]
    return "\n".join(
        [
            f"{NOTE}# Flags and variables\n",
            "What `tfadvisor flags check` knows. An unknown flag in `XLA_FLAGS` ends "
            "a process at its start, and so does a",
            "value that the flag does not take. So which flags there are is not "
            "written down by hand:",
            "`benchmarks/record_flags.py` asks each library itself, tries every flag "
            "that it names, and makes sure that it",
            f"refuses those of all other versions. Recorded on {record.date} "
            f"({record.machine}). A version that is not",
            "recorded is judged by the nearest older one, and the report says so. "
            "Flags of libtpu are not recorded.\n",
            *rows_of("| variable | library | flags | versions |", tables),
            "## Renamed\n",
            "Each name is found from the other, whichever of them a version knows.\n",
            *rows_of("| older name | newer name | values |", renames),
            "## Gone\n",
            *rows_of("| flag | today | |", gone),
            "## Passes that must stay on\n",
            "Never list them in `--xla_disable_hlo_passes`.\n",
            *rows_of("| pass | names | cost without it |", passes),
            "## Values that do harm, or more than they say\n",
            *rows_of("| flag | value | what it does |", harm),
            "## Variables\n",
            *rows_of(
                "| variable | of | accepts | default | meaning |",
                [variable_row(variable) for variable in variables().values()],
            ),
        ]
    )


def rows_of(head: str, rows: list[str]) -> list[str]:
    """A table and an empty line."""
    return [head, "|---" * (head.count("|") - 1) + "|", *rows, ""]


def values_of(values: Mapping[str, str]) -> str:
    """`true` → `on`."""
    return ", ".join(f"`{old}` → `{new}`" for old, new in values.items()) or "the same"


def variable_row(one: Variable) -> str:
    """One environment variable."""
    accepts = ", ".join(f"`{value}`" for value in one.values) or one.kind
    if one.bounds is not None:
        accepts = f"{one.kind} from {one.bounds[0]:,g} to {one.bounds[1]:,g}"
    about = f"{one.gone}. {one.about}" if one.gone else one.about
    about = f"{about} Now `{one.renamed}`." if one.renamed else about
    default = f"`{one.default}`" if one.default is not None else ""
    return (
        f"| [`{one.name}`]({one.source}) | {one.owner} | {accepts} | {default} | "
        f"{about} |"
    )


def called(param: Any) -> str:
    """How an argument is given: `-f, --format text|json`, or `PATH`."""
    if param.param_type_name == "argument":
        return str(param.metavar).replace("|", "\\|")
    options = ", ".join(sorted(param.opts, key=len))
    value = "" if param.is_flag else param.metavar or ""
    return f"{options} {value}".replace("|", "\\|").strip()


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
