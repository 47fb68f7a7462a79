"""The ledger of trials: its entries and file, promises against measurements, and what a
report says of both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias
from zlib import crc32

import msgspec

from tfadvisor.advice.findings import Tried
from tfadvisor.errors import TraceError
from tfadvisor.files import new_file, only_writer, read_small
from tfadvisor.report import Op, Report
from tfadvisor.units import counted

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


def append(
    file: Path,
    entries: Sequence[Entry],
) -> None:
    """Adds lines, all or none: who reads meanwhile sees the file before or after.
    Raises OSError, UsageError when another writer takes too long.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)
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
    entries = []
    unread = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            entry = msgspec.json.decode(line, type=Entry)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            unread += 1
            continue
        if entry.form != FORM:
            unread += 1
        else:
            entries.append(entry)
    return Ledger(tuple(entries), unread)


# How true the promises were: predicted ranges beside measured savings.


def promises_words(entries: Sequence[Entry]) -> str:
    """`3 of 4 predicted savings came true: …`; "" where none was measured. entries:
    the oldest first.
    """
    kept = [_came_true(entry) for entry in _measured(entries)]
    if not kept:
        return ""

    savings = counted(str(len(kept)), "predicted saving", "predicted savings")
    return (
        f"{sum(kept)} of {savings} came true: what was measured lies in the "
        "predicted range."
    )


def _measured(entries: Iterable[Entry]) -> list[Entry]:
    """A finding promises what its fix saves: of several changes for it in one trial the
    best counts.
    """
    best: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        if entry.predicted is None or entry.ratio is None or not entry.rule:
            continue

        key = entry.trial, entry.rule
        before = best.get(key)
        if before is None or before.ratio is None or entry.ratio < before.ratio:
            best[key] = entry
    return list(best.values())


def _came_true(entry: Entry) -> bool:
    if entry.predicted is None or entry.ratio is None:
        return False
    low, high = entry.predicted
    return low <= 1 - entry.ratio <= high


# By what a later report of the same program is known: hashes of its ops' names, from
# which no name can be read.

_MOST = 24
_NUMBERS = re.compile(r"\d+")
_ALIKE = 0.5


def sketch_of(report: Report) -> tuple[int, ...]:
    """Of the hottest ops, the framework and the kinds of devices, in ascending order;
    empty for a report without ops.
    """
    kinds = {device.kind for device in report.run.devices}
    return sketch(report.ops, kinds, report.run.framework)


def sketch(
    ops: Sequence[Op],
    kinds: Collection[str],
    framework: str,
) -> tuple[int, ...]:
    """As `sketch_of`, from a report's parts."""
    if not ops:
        return ()

    names: dict[str, None] = {}
    for op in ops:
        name = f"{op.module or ''}/{op.name}"
        names[_NUMBERS.sub("#", name)] = None

    said = list(names)[:_MOST]
    said += [f"device {kind}" for kind in kinds]
    hashes = {crc32(f"{framework} {part}".encode()) for part in said}
    return tuple(sorted(hashes))


def alike(
    one: Sequence[int],
    other: Sequence[int],
) -> bool:
    """Whether two sketches share half of what they contain together."""
    together = set(one) | set(other)
    shared = set(one) & set(other)
    return bool(one) and len(shared) >= _ALIKE * len(together)


# A report of a program whose fixes were tried before: its findings say what came of
# them.


def tried_before(
    program: Sequence[int],
    entries: Sequence[Entry],
) -> dict[str, Tried]:
    """What was measured of a program's fixes, by rule. program: its sketch. entries: of
    any programs, the oldest first.

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
    assert best.saving is not None
    assert best.predicted is not None
    return Tried(
        *best.saving,
        *best.predicted,
        best.outcome,
        best.change,
        best.at,
        best.device,
    )
