"""The ledger of trials: its entries and file, promises against measurements, and what a
report says of both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any, TypeAlias
from zlib import crc32

import msgspec

from tfadvisor.advice.findings import Tried
from tfadvisor.errors import TraceError
from tfadvisor.files import new_file, only_writer, read_small
from tfadvisor.printable import one_line, plain
from tfadvisor.report.forms.terminal import DIM, PLAIN, TITLE, Screen, TextPage
from tfadvisor.report.model import Op, Report, Tool
from tfadvisor.units import percent
from tfadvisor.version import VERSION

FORM = 1

BETTER = "better"
OUTCOMES = (BETTER, "not better", "cannot tell", "broken")
"""What a trial can come to."""

_Share: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]


class Entry(msgspec.Struct, frozen=True):
    """One candidate of one trial."""

    form: int
    """Of this record."""
    at: str
    """When it was measured, ISO time in UTC."""
    tool: str
    """tfadvisor's version."""
    trial: str
    """Candidates of one trial share it."""
    program: tuple[int, ...]
    """The report's sketch; empty where there was no report."""
    rule: str
    """The finding's rule, "" for none."""
    category: str
    """The finding's category, "" for none."""
    change: str
    """The codemod's name, or patch, env, `pass NAME`."""
    identity: str
    """Changes that are alike have the same."""
    versions: Mapping[str, str]
    device: str
    """Its kind."""
    predicted: tuple[_Share, _Share] | None
    """Saving as a share of step time, from and to."""
    ratio: _Share | None
    """New step time over old, None where the candidate broke."""
    interval: tuple[_Share, _Share] | None
    """Where the ratio lies with 95% confidence."""
    runs: tuple[int, int]
    """Of the program as it is, and with the candidate."""
    outcome: str
    """better, not better, cannot tell or broken."""
    check: str
    """same, differs or not checked."""

    @property
    def saving(self) -> tuple[float, float, float] | None:
        """(estimate, low, high) as shares of step time."""
        if self.ratio is None or self.interval is None:
            return None
        return 1 - self.ratio, 1 - self.interval[1], 1 - self.interval[0]


# The ledger's file: one JSON object a line. Writers wait for each other, and what they
# write appears whole.

_MOST_BYTES = 64 << 20
"""A hundred thousand candidates."""


class Ledger(msgspec.Struct, frozen=True):
    """What can be read of it."""

    entries: tuple[Entry, ...]
    """The oldest first."""
    unread: int
    """Lines that are cut short, or of a newer version."""


def append(file: Path, entries: Sequence[Entry]) -> None:
    """Adds lines, all or none: who reads meanwhile sees the file before or after.
    Raises OSError, UsageError when another writer takes too long.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in entries)
    with only_writer(file.parent):
        known = read_small(file, _MOST_BYTES) if file.exists() else b""
        if known and not known.endswith(b"\n"):
            known += b"\n"
        with new_file(file.resolve()) as out:
            out.write(known + lines)


def read(file: Path) -> Ledger:
    """Empty where there is none. Raises TraceError for what cannot be read."""
    try:
        lines = read_small(file, _MOST_BYTES).splitlines()
    except FileNotFoundError:
        return Ledger((), 0)
    except OSError as error:
        raise TraceError(
            str(file),
            f"{error.strerror or error}.",
            "Give the ledger's file with --ledger.",
        ) from error
    entries, unread = [], 0
    for line in lines:
        if not line.strip():
            continue
        try:
            one = msgspec.json.decode(line, type=Entry)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            unread += 1
            continue
        if one.form != FORM:
            unread += 1
        else:
            entries.append(one)
    return Ledger(tuple(entries), unread)


# How true the promises were: predicted ranges beside measured savings, by class and in
# all.

SCHEMA_VERSION = "1"
ALL = "all"


class Promises(msgspec.Struct, frozen=True):
    """Of one class of findings. All numbers but the first are None without any that was
    kept or broken.
    """

    category: str
    """`all` for all of them."""
    count: int
    """Measured savings of findings that promised something."""
    inside: float | None
    """Share of those whose measured saving lies in the predicted range."""
    bias: float | None
    """Mean of predicted middle less measured saving, as a share of step time: above 0
    too much was promised.
    """
    median_error: float | None
    """Median distance of the predicted middle from the measured saving, as a share of
    step time.
    """


class Accounts(msgspec.Struct, frozen=True):
    """What a ledger says."""

    promises: tuple[Promises, ...]
    """All together first, then each class."""
    entries: tuple[Entry, ...]
    """The oldest first."""
    unread: int
    """Lines that could not be read."""
    tool: Tool = Tool("tfadvisor", VERSION)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first."""
        whole: dict[str, Any] = plain(self)
        return {"schema_version": SCHEMA_VERSION, "tool": whole.pop("tool"), **whole}


def accounts_of(entries: Sequence[Entry], unread: int) -> Accounts:
    """entries: the oldest first."""
    judged = _judged(entries)
    classes = sorted({one.category for one in judged if one.category})
    return Accounts(
        (
            _promises(ALL, judged),
            *(
                _promises(name, [one for one in judged if one.category == name])
                for name in classes
            ),
        ),
        tuple(entries),
        unread,
    )


def _judged(entries: Iterable[Entry]) -> list[Entry]:
    """A finding promises what its fix saves: of several changes for it in one trial the
    best counts.
    """
    best: dict[tuple[str, str], Entry] = {}
    for one in entries:
        if one.predicted is None or one.ratio is None or not one.rule:
            continue
        key = one.trial, one.rule
        before = best.get(key)
        if before is None or before.ratio is None or one.ratio < before.ratio:
            best[key] = one
    return list(best.values())


def _promises(name: str, judged: Sequence[Entry]) -> Promises:
    pairs = [
        (one.predicted, 1 - one.ratio)
        for one in judged
        if one.predicted is not None and one.ratio is not None
    ]
    if not pairs:
        return Promises(name, 0, None, None, None)
    errors = [(low + high) / 2 - saved for (low, high), saved in pairs]
    inside = sum(low <= saved <= high for (low, high), saved in pairs)
    return Promises(
        name,
        len(pairs),
        inside / len(pairs),
        sum(errors) / len(errors),
        median(map(abs, errors)),
    )


# By what a later report of the same program is known: hashes of its ops' names, from
# which no name can be read.

_MOST = 24
_NUMBERS = re.compile(r"\d+")
_ALIKE = 0.5


def sketch_of(report: Report) -> tuple[int, ...]:
    """Of the hottest ops, the framework and the kinds of devices, in ascending order;
    empty for a report without ops.
    """
    kinds = {one.kind for one in report.run.devices}
    return sketch(report.ops, kinds, report.run.framework)


def sketch(
    ops: Sequence[Op], kinds: Collection[str], framework: str
) -> tuple[int, ...]:
    """The same of a report's parts."""
    if not ops:
        return ()
    names = dict.fromkeys(
        _NUMBERS.sub("#", f"{one.module or ''}/{one.name}") for one in ops
    )
    said = [*list(names)[:_MOST], *(f"device {kind}" for kind in kinds)]
    return tuple(sorted({crc32(f"{framework} {one}".encode()) for one in said}))


def alike(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two sketches share half of what they contain together."""
    both = set(one) | set(other)
    return bool(one) and len(set(one) & set(other)) >= _ALIKE * len(both)


# The ledger for a terminal.


def as_text(accounts: Accounts, screen: Screen = PLAIN) -> str:
    """How true the promises were, then each trial, the newest first."""
    page = TextPage(screen)
    whole = accounts.promises[0]
    if whole.count and whole.inside is not None:
        head = (
            f"{percent(whole.inside)} of {whole.count} "
            f"promise{'s' if whole.count != 1 else ''} came true"
        )
        page.line((head, TITLE))
        page.line()
        heading = ("findings", "measured", "in the range", "bias", "median error")
        page.table("Promises", [heading, *map(_row, accounts.promises)], left=[0])
    else:
        page.line(("nothing that a finding promised was measured yet", TITLE))
        page.line()
    rows = [
        ("when", "what", "predicted", "measured", "outcome", "results"),
        *map(_tried, reversed(accounts.entries)),
    ]
    page.table("Tried", rows, left=[0, 1, 4, 5])
    if accounts.unread:
        page.line(
            (
                f"{accounts.unread} lines cannot be read: cut short, or of a newer "
                "version",
                DIM,
            )
        )
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
        one_line(
            f"{one.rule}: {one.change}" if one.rule else f"{one.change} {one.identity}"
        ),
        f"{one.predicted[0] * 100:.0f} to {one.predicted[1] * 100:.0f}%"
        if one.predicted
        else "–",
        f"{saving[0] * 100:.0f}% ({saving[1] * 100:.0f} to {saving[2] * 100:.0f})"
        if saving
        else "–",
        one_line(one.outcome),
        one_line(one.check),
    )


# A report of a program whose fixes were tried before: its findings say what came of
# them.


def tried_before(program: Sequence[int], entries: Sequence[Entry]) -> dict[str, Tried]:
    """What was measured of a program's fixes, by rule. program: its sketch. entries: of any
    programs, the oldest first.

    The newest trial of a rule counts, and of it the change that gained most.
    """
    about: dict[str, list[Entry]] = {}
    for entry in entries:
        is_measured = entry.rule and entry.saving and entry.predicted
        if is_measured and alike(entry.program, program):
            about.setdefault(entry.rule, []).append(entry)
    return {rule: _tried_last(of_rule) for rule, of_rule in about.items()}


def _tried_last(of_rule: Sequence[Entry]) -> Tried:
    newest = [entry for entry in of_rule if entry.trial == of_rule[-1].trial]
    best = min(newest, key=lambda entry: entry.ratio or 0.0)
    saving, predicted = best.saving, best.predicted
    assert saving is not None and predicted is not None
    return Tried(*saving, *predicted, best.outcome, best.change, best.at, best.device)
