"""`tfadvisor ledger`: what findings promised, beside what `tfadvisor try` measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tfadvisor.cli.outputs import write_json, write_out
from tfadvisor.cli.reading_options import LEDGER, one_format
from tfadvisor.cli.typer_commands import Command, option
from tfadvisor.errors import TraceError
from tfadvisor.report.forms.terminal import screen_of

_EXAMPLES = """\
Examples:
  tfadvisor ledger                                  .tfadvisor/ledger.jsonl, where `tfadvisor try` writes
  tfadvisor ledger --ledger other/ledger.jsonl
  tfadvisor ledger --format json

Exit codes: 0 fine, 2 usage, 3 there is no ledger, or it cannot be read."""

LedgerFile = Annotated[Path, option("--ledger", "FILE", "the ledger")]
Format = Annotated[str | None, one_format(("text", "json"), "format (text)", None)]

app = typer.Typer(add_completion=False)


@app.command(
    "ledger",
    cls=Command,
    epilog=_EXAMPLES,
    short_help="predicted vs. measured savings of earlier `try` runs",
)
def ledger(ledger: LedgerFile = LEDGER, format: Format = None) -> int:
    """Compare predicted with measured savings of earlier `try` runs.

    Each line of the ledger is a change that was tried: ids, versions and numbers, no
    paths and no code.
    """
    from tfadvisor.comparison.ledger import (
        accounts_of,
        as_text,
        read,
    )  # --help needs none of these

    found = read(ledger)
    if not found.entries and not found.unread:
        raise TraceError(
            str(ledger), "no change was tried yet.", "`tfadvisor try` writes it."
        )
    accounts = accounts_of(found.entries, found.unread)
    if format == "json":
        write_json(accounts.to_dict())
    else:
        write_out(as_text(accounts, screen_of(sys.stdout)))
    return 0
