"""A store's runs as a table with a head, or as records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfadvisor.printable import cut, one_line
from tfadvisor.units import Unit, duration, in_words

if TYPE_CHECKING:
    from tfadvisor.comparison.baseline.store import Kept

_WIDEST = 40
_SHORTEST_NAME = 20
_NUMBERS = ("STEP", "STEPS", "LEVEL")


def table(runs: Sequence[Kept]) -> str:
    """One line a run below a head; columns that hold the same nothing in every run are left out."""
    rows = [_row(kept, name) for kept, name in zip(runs, names(runs), strict=True)]
    columns = [one for one in (rows[0] if rows else ()) if any(row[one] for row in rows)]
    width = {one: max(len(one), *(len(row[one]) for row in rows)) for one in columns}
    lines = ["  ".join(_cell(one, one, width[one]) for one in columns)]
    lines += ["  ".join(_cell(one, row[one], width[one]) for one in columns) for row in rows]
    return "".join(f"{line.rstrip()}\n" for line in lines) if rows else ""


def names(runs: Sequence[Kept]) -> list[str]:
    """The shortest beginnings of the files' names, of at least 20 characters, that tell the runs apart."""
    stems = [kept.file.stem for kept in runs]
    found = []
    for at, stem in enumerate(stems):
        others = stems[:at] + stems[at + 1 :]
        long = _SHORTEST_NAME
        while long < len(stem) and any(other.startswith(stem[:long]) for other in others):
            long += 1
        found.append(stem[:long])
    return found


def line(kept: Kept) -> str:
    """`resnet50  2026-01-31 12:00  1f0c2d3e  main  …  38.9 ms  40 steps  level 0  baselines/…json`: one run, for a message."""
    row = _row(kept, "")
    row |= {"STEPS": f"{row['STEPS']} steps", "LEVEL": f"level {row['LEVEL']}"}
    return "  ".join(words for words in (*row.values(), one_line(str(kept.file))) if words)


def page(kept: Kept) -> str:
    """One run: where it comes from, its findings with the day they came, its metrics."""
    lines = [f"{name.lower().ljust(9)}  {words}" for name, words in _row(kept, kept.file.stem).items() if words]
    lines += [f"{'file'.ljust(9)}  {one_line(str(kept.file))}", ""]
    side = kept.snapshot.side
    for one in side.findings:
        since = f" since {one.since}" if one.since else ""
        lines.append(one_line(f"{one.severity or 'finding'}{since}: {one.title} ({one.rule_id})"))
    longest = max((len(one) for one in side.metrics), default=0)
    lines += ["", *(f"{one.ljust(longest)}  {_amount(value, side.units[one])}" for one, value in side.metrics.items())]
    return "".join(f"{line}\n" for line in lines)


def _amount(value: float, unit: str) -> str:
    """A newer version may have units that this one does not know."""
    return in_words(value, Unit(unit)) if unit in {one.value for one in Unit} else one_line(f"{value:.6g} {unit}")


def entry(kept: Kept) -> dict[str, object]:
    """One run for programs; times in ms."""
    key, side, origin = kept.snapshot.key, kept.snapshot.side, kept.snapshot.origin
    return {
        "file": str(kept.file),
        "model": key.model,
        "framework": key.framework,
        "devices": key.devices,
        "hosts": key.hosts,
        "labels": dict(key.labels),
        "recorded_at": kept.snapshot.recorded_at,
        "added_at": kept.snapshot.added_at,
        "commit": origin.commit,
        "branch": origin.branch,
        "machine": origin.machine,
        "level": kept.snapshot.level,
        "note": kept.snapshot.note,
        "step_time_ms": side.median_ms,
        "steps": side.steps,
        "findings": [
            {"rule_id": one.rule_id, "severity": one.severity, "since": one.since, "place": one.place}
            for one in side.findings
        ],
        "fingerprint": kept.snapshot.fingerprint,
    }


def _row(kept: Kept, name: str) -> dict[str, str]:
    key, side, origin = kept.snapshot.key, kept.snapshot.side, kept.snapshot.origin
    words = {
        "RUN": name,
        "MODEL": key.model,
        "RECORDED": kept.snapshot.recorded_at[:16].replace("T", " "),
        "COMMIT": origin.commit[:10],
        "BRANCH": origin.branch,
        "MACHINE": origin.machine,
        "DEVICES": f"{key.devices} on {key.hosts} hosts" if key.hosts > 1 else key.devices,
        "FRAMEWORK": key.framework,
        "LABELS": ", ".join(f"{one}={value}" for one, value in sorted(key.labels.items())),
        "STEP": duration(side.median_ms),
        "STEPS": str(side.steps),
        "LEVEL": str(kept.snapshot.level),
        "NOTE": kept.snapshot.note,
    }
    return {one: value if one == "RUN" else cut(one_line(value), _WIDEST) for one, value in words.items()}


def _cell(column: str, words: str, width: int) -> str:
    return words.rjust(width) if column in _NUMBERS else words.ljust(width)
