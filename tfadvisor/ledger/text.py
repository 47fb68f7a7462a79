"""The ledger for a terminal."""

from __future__ import annotations

from tfadvisor.ledger.entries import Entry
from tfadvisor.ledger.promises import Accounts, Promises
from tfadvisor.report.printable import one_line
from tfadvisor.report.terminal_text import DIM, PLAIN, TITLE, Screen, TextPage
from tfadvisor.units import percent


def as_text(accounts: Accounts, screen: Screen = PLAIN) -> str:
    """How true the promises were, then each trial, the newest first."""
    page = TextPage(screen)
    whole = accounts.promises[0]
    if whole.count and whole.inside is not None:
        head = f"{percent(whole.inside)} of {whole.count} promise{'s' if whole.count != 1 else ''} came true"
        page.line((head, TITLE))
        page.line()
        heading = ("findings", "measured", "in the range", "bias", "median error")
        page.table("Promises", [heading, *map(_row, accounts.promises)], left=[0])
    else:
        page.line(("nothing that a finding promised was measured yet", TITLE))
        page.line()
    rows = [("when", "what", "predicted", "measured", "outcome", "results"), *map(_tried, reversed(accounts.entries))]
    page.table("Tried", rows, left=[0, 1, 4, 5])
    if accounts.unread:
        page.line((f"{accounts.unread} lines cannot be read: cut short, or of a newer version", DIM))
    return page.text()


def _row(one: Promises) -> tuple[str, ...]:
    return (
        one.category,
        str(one.count),
        percent(one.inside) if one.inside is not None else "–",
        f"{one.bias * 100:+.0f} points" if one.bias is not None else "–",
        f"{one.median_error * 100:.0f} points" if one.median_error is not None else "–",
    )


def _tried(one: Entry) -> tuple[str, ...]:
    saving = one.saving
    return (
        one_line(one.at[:10]),
        one_line(f"{one.rule}: {one.change}" if one.rule else f"{one.change} {one.identity}"),
        f"{one.predicted[0] * 100:.0f} to {one.predicted[1] * 100:.0f}%" if one.predicted else "–",
        f"{saving[0] * 100:.0f}% ({saving[1] * 100:.0f} to {saving[2] * 100:.0f})" if saving else "–",
        one_line(one.outcome),
        one_line(one.check),
    )
