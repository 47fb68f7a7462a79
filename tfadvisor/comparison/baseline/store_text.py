"""The runs of a store as text: a table with a head, one line, one page; and as plain
data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfadvisor.comparison.baseline.snapshot import Snapshot
from tfadvisor.comparison.baseline.store import Kept
from tfadvisor.printable import cut, one_line, plain
from tfadvisor.units import Unit, duration, in_words

_WIDEST = 40
_UNITS = frozenset(unit.value for unit in Unit)


def table(runs: Sequence[Kept]) -> str:
    """One line a run below a head; columns that hold nothing in any run are
    left out.
    """
    if not runs:
        return ""

    rows = [{"RUN": kept.file.stem, **_row(kept.snapshot)} for kept in runs]
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    width = {name: max(len(row[name]) for row in rows) for name in columns}
    width = {name: max(width[name], len(name)) for name in columns}

    head = {name: name for name in columns}
    return "".join(_padded(row, width) for row in (head, *rows))


def _padded(row: Mapping[str, str], width: Mapping[str, int]) -> str:
    cells = [row[name].ljust(most) for name, most in width.items()]
    return "  ".join(cells).rstrip() + "\n"


def line(kept: Kept) -> str:
    """`resnet50  2026-01-31 12:00  38.9 ms  level 0  baselines/…json`: one run, for a
    message.
    """
    row = _row(kept.snapshot)
    level = f"level {row['LEVEL']}"
    file = one_line(str(kept.file))
    words = (row["MODEL"], row["RECORDED"], row["STEP"], level, file)
    return "  ".join(word for word in words if word)


def page(kept: Kept) -> str:
    """One run: where it comes from, its findings, its metrics."""
    side = kept.snapshot.side
    lines = [*_origin(kept), ""]
    for found in side.findings:
        lines.append(one_line(f"{found.severity}: {found.title} ({found.rule_id})"))
    lines.append("")

    longest = max(map(len, side.metrics), default=0)
    for name, value in side.metrics.items():
        lines.append(f"{name.ljust(longest)}  {_amount(value, side.units[name])}")
    return "\n".join(lines) + "\n"


def _origin(kept: Kept) -> list[str]:
    known = entry(kept)
    del known["findings"]
    return [
        f"{name.ljust(12)}  {one_line(str(value))}"
        for name, value in known.items()
        if value
    ]


def _amount(value: float, unit: str) -> str:
    """A newer version may have units that this one does not know."""
    if unit in _UNITS:
        return in_words(value, Unit(unit))
    return one_line(f"{value:.6g} {unit}")


def entry(kept: Kept) -> dict[str, object]:
    """One run for programs; times in ms."""
    snapshot, side = kept.snapshot, kept.snapshot.side
    return {
        "file": str(kept.file),
        **plain(snapshot.key),
        "recorded_at": snapshot.recorded_at,
        "added_at": snapshot.added_at,
        **plain(snapshot.origin),
        "level": snapshot.level,
        "note": snapshot.note,
        "step_time_ms": side.median_ms,
        "steps": side.steps,
        "findings": [
            {
                "rule_id": finding.rule_id,
                "severity": finding.severity,
                "place": finding.place,
            }
            for finding in side.findings
        ],
        "fingerprint": snapshot.fingerprint,
    }


def _row(snapshot: Snapshot) -> dict[str, str]:
    key, side, origin = snapshot.key, snapshot.side, snapshot.origin
    hosts = f" on {key.hosts} hosts" if key.hosts > 1 else ""
    labels = [f"{name}={value}" for name, value in sorted(key.labels.items())]
    words = {
        "MODEL": key.model,
        "RECORDED": snapshot.recorded_at[:16].replace("T", " "),
        "COMMIT": origin.commit[:10],
        "BRANCH": origin.branch,
        "MACHINE": origin.machine,
        "DEVICES": f"{key.devices}{hosts}",
        "FRAMEWORK": key.framework,
        "LABELS": ", ".join(labels),
        "STEP": duration(side.median_ms),
        "STEPS": str(side.steps),
        "LEVEL": str(snapshot.level),
        "NOTE": snapshot.note,
    }
    return {name: cut(one_line(value), _WIDEST) for name, value in words.items()}
