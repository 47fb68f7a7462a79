"""Step times over runs: a bar a run, split into classes of time, as a picture and a
page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from tfadvisor.comparison.baseline.snapshot import Key, Snapshot
from tfadvisor.html_fragments import table, text
from tfadvisor.printable import cut, one_line
from tfadvisor.report.forms import whole_page
from tfadvisor.tallies import listed
from tfadvisor.units import duration, percent
from tfadvisor.vocabulary import FRAMEWORKS, TIME_CLASSES

_HEIGHT, _TOP, _BELOW = 220.0, 18.0, 20.0
_WIDEST = 10.0
"""Of the picture's width, %, that a bar takes."""
_MIDDLE, _LONGEST_NOTE = 40.0, 24
"""%, beyond which words end at their place; and how many letters of them have room on a
phone.
"""
_GAP = 0.2
_MOST_LINES, _MOST_DATES = 5, 6


def chart(runs: Sequence[Snapshot]) -> str:
    """SVG as wide as its place: x in %. runs: of one baseline, oldest first; at least
    one.
    """
    each = min(_WIDEST, 100 / len(runs))
    longest = max(run.side.median_ms for run in runs)
    parts = [_axis(longest)]
    dated = -(-len(runs) // _MOST_DATES)
    for at, run in enumerate(runs):
        x = at * each
        if at and run.level != runs[at - 1].level:
            parts.append(_level(run, x))
        parts.append(_bar(run, x + each * _GAP / 2, each * (1 - _GAP), longest))
        if at % dated == 0:
            day = text(run.recorded_at[5:10])
            parts.append(
                f'<text x="{x + each / 2:.3f}%" y="{_TOP + _HEIGHT + 15}" '
                f'text-anchor="middle">{day}</text>'
            )
    label = (
        f"Step time of {len(runs)} runs, {duration(runs[0].side.median_ms)} to "
        f"{duration(runs[-1].side.median_ms)}"
    )
    drawn = "\n".join(parts)
    height = _TOP + _HEIGHT + _BELOW
    return (
        f'<div><svg class="history" role="img" aria-label="{text(label)}" '
        f'height="{height:.0f}">\n{drawn}\n</svg></div>'
    )


def _axis(longest: float) -> str:
    """Lines at round times, and zero."""
    unit = 10.0 ** math.floor(math.log10(longest / _MOST_LINES))
    between = next(
        unit * many for many in (1, 2, 5, 10) if longest / (unit * many) <= _MOST_LINES
    )
    lines = []
    for number in range(int(longest / between) + 1):
        y = _TOP + _HEIGHT * (1 - number * between / longest)
        words = text(duration(number * between))
        lines.append(f'<line class="axis" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text x="-6" y="{y + 4:.1f}" text-anchor="end">{words}</text>')
    return "".join(lines)


def _bar(run: Snapshot, x: float, width: float, longest: float) -> str:
    """Its height is the median step; classes have their shares of it."""
    height = _HEIGHT * run.side.median_ms / longest
    total = sum(run.side.class_ms.values())
    y = _TOP + _HEIGHT
    parts = []
    for name in TIME_CLASSES:
        part = height * run.side.class_ms.get(name, 0.0) / total if total else 0.0
        if part > 0:
            y -= part
            parts.append(
                f'<rect class="k-{name}" x="{x:.3f}%" y="{y:.2f}" '
                f'width="{width:.3f}%" height="{part:.2f}"/>'
            )
    return f"<g><title>{escape(bar_title(run))}</title>{''.join(parts)}</g>"


def bar_title(run: Snapshot) -> str:
    """Lines for the run under the pointer."""
    side = run.side
    scale = side.median_ms / side.mean_ms
    classes = [
        f"{name} {duration(side.class_ms[name] * scale)}"
        for name in TIME_CLASSES
        if side.class_ms.get(name)
    ]
    head = [
        run.recorded_at[:19] or "undated",
        side.name,
        f"{duration(side.median_ms)} a step, {side.steps} steps",
    ]
    head += [f"commit {run.origin.commit[:9]}"] if run.origin.commit else []
    note = [f"level {run.level}: {run.note}"] if run.note else []
    return "\n".join(one_line(class_) for class_ in (*head, *classes, *note))


def _level(run: Snapshot, x: float) -> str:
    label = escape(cut(one_line(run.note), _LONGEST_NOTE) or "accepted")
    side = "start" if x < _MIDDLE else "end"
    return (
        f'<line class="level" x1="{x:.3f}%" x2="{x:.3f}%" y1="{_TOP}" '
        f'y2="{_TOP + _HEIGHT}" stroke-dasharray="4 3"/>'
        f'<text class="mark" x="{x:.3f}%" y="{_TOP - 6}" text-anchor="{side}">level '
        f"{run.level}: {label}</text>"
    )


# The history page: for each baseline of a store the step time and its classes over
# runs, and every run in a table.

_TITLES = (
    "recorded",
    "run",
    "step",
    "change",
    "steps",
    "level",
    "note",
    "commit",
    "branch",
    "machine",
    "version",
)


def as_html(store: str, runs: Sequence[Snapshot], unusable: int = 0) -> str:
    """runs: of all baselines. unusable: how many files of the store could not
    be read.
    """
    named = "".join(
        f'<span><span class="swatch k-{name}"></span>{name}</span> '
        for name in TIME_CLASSES
    )
    legend = (
        '<p class="dim">Median step of each run, split into classes of time: '
        f"{named}</p>"
    )
    parts = [f"<h1>Step times in {text(store)}</h1>", legend]
    if unusable:
        parts.append(
            f"<p>{unusable} file{'s' if unusable != 1 else ''} of the store could "
            "not be read.</p>"
        )
    for alike in baselines(runs):
        parts += [
            f"<h2>{text(key_words(alike[0].key))}</h2>",
            f"<p>{text(in_short(alike))}</p>",
            chart(alike),
            _table(alike),
        ]
    return whole_page(f"Step times in {store}", parts)


def baselines(runs: Sequence[Snapshot]) -> list[list[Snapshot]]:
    """The runs that are compared with each other, oldest first; the baseline with the
    latest run first.
    """
    found = listed(
        (key_words(run.key), run) for run in sorted(runs, key=lambda kept: kept.age)
    )
    return sorted(found.values(), key=lambda alike: alike[-1].recorded_at, reverse=True)


def key_words(key: Key) -> str:
    """`resnet50 · JAX · 8 gpu NVIDIA H100 · 2 hosts · batch=256`."""
    labels = [f"{name}={value}" for name, value in sorted(key.labels.items())]
    hosts = [f"{key.hosts} hosts"] if key.hosts > 1 else []
    return " · ".join(
        [
            key.model,
            FRAMEWORKS.get(key.framework, key.framework),
            key.devices,
            *hosts,
            *labels,
        ]
    )


def in_short(alike: Sequence[Snapshot]) -> str:
    """How many runs, and how the last one compares with the first."""
    first, last = alike[0].side.median_ms, alike[-1].side.median_ms
    words = f"{len(alike)} run{'s' if len(alike) != 1 else ''}"
    if len(alike) == 1:
        return f"{words}: {duration(last)} a step."
    levels = len({run.level for run in alike})
    accepted = (
        f", {levels - 1} accepted change{'s' if levels != 2 else ''}"
        if levels > 1
        else ""
    )
    return (
        f"{words}{accepted}: {duration(first)} a step in the first, {duration(last)} "
        f"in the last ({_change(first, last)})."
    )


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
