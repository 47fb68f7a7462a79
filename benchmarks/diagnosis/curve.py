"""The curve of first sight over the blind batches, as a picture, and the signals that
were missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

_MISSING = Path(__file__).resolve().parent / "missing_signals.yaml"
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 300, 48, 34, 36
_LINES = (
    ("cause", "#2d6a4f", "cause and cure first"),
    ("class", "#1d4e89", "class first"),
    ("silent", "#9d0208", "silent"),
)


def svg(counts: Mapping[str, Mapping[str, Any]]) -> str:
    """counts: of each batch, in order. Shares of the faulty forms in percent."""
    step = (_WIDTH - _LEFT - 20) / max(len(counts) - 1, 1)
    height = _HEIGHT - _TOP - _BOTTOM

    def at(place: int, share: float) -> str:
        return f"{_LEFT + step * place:.1f},{_TOP + height * (1 - share):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="12">'
    ]
    parts.append(f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>')
    for percent in range(0, 101, 25):
        y = _TOP + height * (1 - percent / 100)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="#ddd"/>'
        )
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{percent}%</text>'
        )
    for place, batch in enumerate(counts):
        parts.append(
            f'<text x="{_LEFT + step * place:.1f}" y="{_HEIGHT - 12}" '
            f'text-anchor="middle">batch {batch}</text>'
        )
    for number, (key, colour, label) in enumerate(_LINES):
        points = [
            at(place, one[key] / one["faulty"])
            for place, one in enumerate(counts.values())
        ]
        parts.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" '
            'stroke-width="2"/>'
        )
        parts += [
            f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>'
            for x, y in (point.split(",") for point in points)
        ]
        parts.append(
            f'<text x="{_LEFT + 170 * number}" y="18" fill="{colour}">{label}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def section(judged: Mapping[str, Mapping[str, Mapping[str, str]]]) -> str:
    """What the curve shows and which signals are missing, for the page.

    judged: of each batch what its faulty forms' first answers were worth, and what is
    said since. Raises SystemExit where the forms that are still not named are not
    exactly those of missing_signals.yaml.
    """
    missing: list[dict[str, Any]] = yaml.safe_load(_MISSING.read_text(encoding="utf-8"))
    every = {name: one for faulty in judged.values() for name, one in faulty.items()}
    left = {
        name
        for name, one in every.items()
        if one["first"] != "cause" and not one["since"].startswith("cause")
    }
    if sorted(left) != sorted(name for row in missing for name in row["programs"]):
        raise SystemExit(
            f"{_MISSING.name} does not hold, once each, {', '.join(sorted(left))}"
        )
    first = sum(one["first"] == "cause" for one in every.values())
    rows = [
        f"| {row['signal']} | {row['record']} | `{'`, `'.join(row['programs'])}` |"
        for row in missing
    ]
    return "\n".join(
        [
            "## The curve\n",
            f"![Shares of the faulty forms over the {len(judged)} "
            "batches](../../docs/pictures/first-sight.svg)\n",
            "What a batch shows is mended, and the next batch shows something else: "
            "authors may not repeat a fault, and the",
            "common ones are used up. The curve does not rise any more.",
            f"Of {len(every)} faulty forms {first} were named at first sight, and "
            f"{len(every) - len(left)} are today.",
            "The others lack a signal:\n",
            "| missing | what records it | programs |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )
