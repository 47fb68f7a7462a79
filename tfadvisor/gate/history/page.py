"""The history page: for each baseline of a store the step time and its classes over runs, and every run in a table."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.gate.baseline.snapshot import Key, Snapshot
from tfadvisor.gate.history.chart import chart
from tfadvisor.report.plain_page import table, text, whole_page
from tfadvisor.units import duration, percent
from tfadvisor.vocabulary import FRAMEWORKS, TIME_CLASSES

_TITLES = ("recorded", "run", "step", "change", "steps", "level", "note", "commit", "branch", "machine", "version")


def as_html(store: str, runs: Sequence[Snapshot], unusable: int = 0) -> str:
    """runs: of all baselines. unusable: how many files of the store could not be read."""
    parts = [f"<h1>Step times in {text(store)}</h1>", _legend()]
    if unusable:
        parts.append(f"<p>{unusable} file{'s' if unusable != 1 else ''} of the store could not be read.</p>")
    for alike in baselines(runs):
        parts += [
            f"<h2>{text(key_words(alike[0].key))}</h2>",
            f"<p>{text(in_short(alike))}</p>",
            chart(alike),
            _table(alike),
        ]
    return whole_page(f"Step times in {store}", parts)


def baselines(runs: Sequence[Snapshot]) -> list[list[Snapshot]]:
    """The runs that are compared with each other, oldest first; the baseline with the latest run first."""
    found: dict[str, list[Snapshot]] = {}
    for run in sorted(runs, key=lambda one: (one.level, one.recorded_at, one.added_at)):
        found.setdefault(key_words(run.key), []).append(run)
    return sorted(found.values(), key=lambda alike: alike[-1].recorded_at, reverse=True)


def key_words(key: Key) -> str:
    """`resnet50 · JAX · 8 gpu NVIDIA H100 · 2 hosts · batch=256`."""
    labels = [f"{name}={value}" for name, value in sorted(key.labels.items())]
    hosts = [f"{key.hosts} hosts"] if key.hosts > 1 else []
    return " · ".join([key.model, FRAMEWORKS.get(key.framework, key.framework), key.devices, *hosts, *labels])


def in_short(alike: Sequence[Snapshot]) -> str:
    """How many runs, and how the last one compares with the first."""
    first, last = alike[0].side.median_ms, alike[-1].side.median_ms
    words = f"{len(alike)} run{'s' if len(alike) != 1 else ''}"
    if len(alike) == 1:
        return f"{words}: {duration(last)} a step."
    levels = len({run.level for run in alike})
    accepted = f", {levels - 1} accepted change{'s' if levels != 2 else ''}" if levels > 1 else ""
    return f"{words}{accepted}: {duration(first)} a step in the first, {duration(last)} in the last ({_change(first, last)})."


def _legend() -> str:
    named = "".join(f'<span><span class="swatch k-{name}"></span>{name}</span> ' for name in TIME_CLASSES)
    return f'<p class="dim">Median step of each run, split into classes of time: {named}</p>'


def _table(alike: Sequence[Snapshot]) -> str:
    rows = []
    for at, run in enumerate(alike):
        before = alike[at - 1].side.median_ms if at else run.side.median_ms
        side = run.side
        rows.append((
            run.recorded_at[:19].replace("T", " ") or "undated",
            side.name,
            duration(side.median_ms),
            _change(before, side.median_ms) if at else "",
            str(side.steps),
            str(run.level),
            run.note,
            run.origin.commit[:9],
            run.origin.branch,
            run.origin.machine,
            run.about.get("framework version", ""),
        ))  # fmt: skip
    return table(_TITLES, reversed(rows), numbers=(2, 3, 4, 5))


def _change(before: float, now: float) -> str:
    share = now / before - 1
    return f"{'−' if share < 0 else '+'}{percent(abs(share))}"
