"""Step times over runs as a picture: a bar a run, split into classes of time, a line where a level begins."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tfadvisor.gate.baseline.snapshot import Snapshot
from tfadvisor.report.plain_page import text
from tfadvisor.report.printable import one_line
from tfadvisor.units import duration
from tfadvisor.vocabulary import TIME_CLASSES

_HEIGHT, _TOP, _LEFT, _BELOW = 220.0, 18.0, 64.0, 20.0
_WIDEST, _WIDTH = 28.0, 900.0
_GAP = 0.2
_LINES = 4


def chart(runs: Sequence[Snapshot]) -> str:
    """SVG. runs: of one baseline, oldest first; at least one."""
    each = min(_WIDEST, _WIDTH / len(runs))
    longest = max(run.side.median_ms for run in runs)
    width = _LEFT + each * len(runs) + 8
    parts = [_axis(longest, width)]
    for at, run in enumerate(runs):
        x = _LEFT + at * each
        if at and run.level != runs[at - 1].level:
            parts.append(_level(run, x))
        parts.append(_bar(run, x + each * _GAP / 2, each * (1 - _GAP), longest))
    height = _TOP + _HEIGHT + _BELOW
    label = f"Step time of {len(runs)} runs, {duration(runs[0].side.median_ms)} to {duration(runs[-1].side.median_ms)}"
    return (
        f'<div class="scroll"><svg role="img" aria-label="{text(label)}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">\n' + "\n".join(parts) + "\n</svg></div>"
    )


def _axis(longest: float, width: float) -> str:
    lines = []
    for number in range(_LINES + 1):
        share = number / _LINES
        y = _TOP + _HEIGHT * (1 - share)
        lines.append(f'<line class="axis" x1="{_LEFT}" x2="{width:.0f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text(duration(longest * share))}</text>'
        )
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
            parts.append(f'<rect class="k-{name}" x="{x:.1f}" y="{y:.2f}" width="{width:.1f}" height="{part:.2f}"/>')
    return f"<g><title>{escape(bar_title(run))}</title>{''.join(parts)}</g>"


def bar_title(run: Snapshot) -> str:
    """Lines for the run under the pointer."""
    side = run.side
    scale = side.median_ms / side.mean_ms
    classes = [f"{name} {duration(side.class_ms[name] * scale)}" for name in TIME_CLASSES if side.class_ms.get(name)]
    head = [run.recorded_at[:19] or "undated", side.name, f"{duration(side.median_ms)} a step, {side.steps} steps"]
    head += [f"commit {run.origin.commit[:9]}"] if run.origin.commit else []
    note = [f"level {run.level}: {run.note}"] if run.note else []
    return "\n".join(one_line(one) for one in (*head, *classes, *note))


def _level(run: Snapshot, x: float) -> str:
    label = one_line(run.note)[:40] or "accepted"
    return (
        f'<line class="level" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_TOP + _HEIGHT}" stroke-dasharray="4 3"/>'
        f'<text class="mark" x="{x + 4:.1f}" y="{_TOP - 6}">level {run.level}: {escape(label)}</text>'
    )
