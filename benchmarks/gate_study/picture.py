"""Curves as an SVG, without a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 16, 48
COLOURS = ("#0b6e4f", "#c1440e", "#1f4e9c", "#888888", "#aaaaaa")


def curves(shares: Sequence[float], lines: Mapping[str, Sequence[float]]) -> str:
    """Shares along the bottom, evenly spaced; failing share upwards."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        "<title>How many gates fail, by how much slower the new runs are</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(value)
        parts.append(
            f'<line x1="{LEFT}" y1="{y:.0f}" x2="{WIDTH - RIGHT}" y2="{y:.0f}" '
            'stroke="#dddddd"/>'
        )
        parts.append(
            f'<text x="{LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{value:.0%}</text>'
        )
    for at, share in enumerate(shares):
        parts.append(
            f'<text x="{_x(at, shares):.0f}" y="{HEIGHT - BOTTOM + 18}" '
            f'text-anchor="middle">+{share:.0%}</text>'
        )
    parts.append(
        f'<text x="{WIDTH / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">slower '
        "by</text>"
    )
    for number, (name, values) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(
            f"{_x(at, shares):.1f},{_y(value):.1f}" for at, value in enumerate(values)
        )
        dashes = ' stroke-dasharray="6 4"' if name.startswith("plain") else ""
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" '
            f'stroke-width="2"{dashes}/>'
        )
        parts.append(
            f'<text x="{WIDTH - RIGHT - 220}" '
            f'y="{HEIGHT - BOTTOM - 84 + 16 * number}" fill="{colour}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(at: int, shares: Sequence[float]) -> float:
    return LEFT + 16 + (WIDTH - LEFT - RIGHT - 32) * at / (len(shares) - 1)


def _y(value: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value)
