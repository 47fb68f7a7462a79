"""Draws the packages of tfadvisor and who imports whom, from the code:
docs/architecture/packages.svg.

An arrow leads from a package to one that it imports. It is left out where a longer way
says the same (the transitive reduction), so that the picture stays readable; a package
stands above everything that it imports. Modules that hold no knowledge of their own
kind (errors, units, files …) are imported by all and not drawn.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "tfadvisor"
WIDTH, BOX, HEIGHT, GAP_X, GAP_Y = 880, 132, 34, 18, 40

Imports = Mapping[str, frozenset[str]]
Place = tuple[float, float]


def picture() -> str:
    """The SVG of the packages as they are now. Raises ValueError when they import each
    other in a circle.
    """
    return draw(imports_of(PACKAGE))


def imports_of(package: Path) -> Imports:
    """Each folder of the package, and the modules between them, with those that it
    imports, also inside functions.
    """
    drawn = {
        folder.name for folder in package.iterdir() if (folder / "__init__.py").exists()
    }
    drawn |= {
        name for name in ("analysis", "comparing") if (package / f"{name}.py").exists()
    }
    found: dict[str, set[str]] = {name: set() for name in drawn}
    for name in drawn:
        for file in [*(package / name).rglob("*.py"), *package.glob(f"{name}.py")]:
            found[name] |= _imported(
                ast.parse(file.read_text("utf-8")), package.name
            ) & drawn - {name}
    return {name: frozenset(found[name]) for name in sorted(found)}


def _imported(tree: ast.Module, root: str) -> set[str]:
    """The second words of everything below root that is imported: `from
    tfadvisor.program import x` -> program.
    """
    dotted: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            dotted += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            dotted += [f"{node.module}.{one.name}" for one in node.names]
    return {name.split(".")[1] for name in dotted if name.startswith(f"{root}.")}


def levels(imports: Imports) -> dict[str, int]:
    """How far above the ground each package stands: one more than the highest that it
    imports.
    """
    known: dict[str, int] = {}

    def level(name: str, above: tuple[str, ...]) -> int:
        if name in above:
            raise ValueError(
                f"packages import each other in a circle: {' -> '.join([*above, name])}"
            )
        if name not in known:
            known[name] = max(
                (level(one, (*above, name)) + 1 for one in imports[name]), default=0
            )
        return known[name]

    return {name: level(name, ()) for name in imports}


def reduced(imports: Imports) -> dict[str, list[str]]:
    """The imports that no longer way implies."""

    def reach(name: str) -> set[str]:
        return set(imports[name]).union(*(reach(one) for one in imports[name]))

    return {
        name: sorted(
            one for one in below if not any(one in reach(other) for other in below)
        )
        for name, below in imports.items()
    }


def draw(imports: Imports) -> str:
    """The SVG: a row for each level, the highest on top."""
    level = levels(imports)
    rows = [
        sorted(name for name in imports if level[name] == number)
        for number in range(max(level.values()), -1, -1)
    ]
    places: dict[str, Place] = {}
    for row, names in enumerate(rows):
        left = (WIDTH - len(names) * BOX - (len(names) - 1) * GAP_X) / 2
        for column, name in enumerate(names):
            places[name] = (left + column * (BOX + GAP_X), 10 + row * (HEIGHT + GAP_Y))
    height = len(rows) * (HEIGHT + GAP_Y) - GAP_Y + 20
    arrows = [
        _arrow(places[name], places[one], list(places.values()))
        for name, below in reduced(imports).items()
        for one in below
    ]
    boxes = [_box(name, *places[name]) for name in places]
    return "\n".join([_head(height), *arrows, *boxes, "</svg>"]) + "\n"


def _head(height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        'font-family="sans-serif">\n'
        "<!-- written by docs/generate.py from the imports -->\n"
        "<title>The packages of tfadvisor and what each imports</title>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#5c6370"/></marker></defs>\n'
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fff"/>'
    )


def _arrow(start: Place, end: Place, boxes: Sequence[Place]) -> str:
    """A curve from the bottom of one box to the top of another, bent just enough to
    pass beside those between.
    """
    x1, y1, x2, y2 = start[0] + BOX / 2, start[1] + HEIGHT, end[0] + BOX / 2, end[1] - 1
    half = (y1 + y2) / 2
    between = [box for box in boxes if start[1] < box[1] < end[1]]
    bends = (side * bend for bend in range(0, WIDTH, 20) for side in (1, -1))
    for bend in bends:
        curve = ((x1, y1), (x1 + bend, half), (x2 + bend, half), (x2, y2))
        if not any(_touches(curve, box) for box in between):
            break
    way = " ".join(f"{x:.0f} {y:.0f}" for x, y in curve[1:])
    line = f"M{x1:.0f} {y1:.0f}C{way}"
    return (
        f'<path d="{line}" fill="none" stroke="#5c6370" stroke-width="1.2" '
        'marker-end="url(#tip)"/>'
    )


def _touches(curve: Sequence[Place], box: Place, margin: float = 8) -> bool:
    """Whether a cubic Bezier curve comes nearer to a box than the margin, looked at in
    60 places.
    """
    for part in (number / 60 for number in range(61)):
        weights = (
            (1 - part) ** 3,
            3 * part * (1 - part) ** 2,
            3 * part**2 * (1 - part),
            part**3,
        )
        x = sum(weight * point[0] for weight, point in zip(weights, curve, strict=True))
        y = sum(weight * point[1] for weight, point in zip(weights, curve, strict=True))
        if (
            -margin < x - box[0] < BOX + margin
            and -margin < y - box[1] < HEIGHT + margin
        ):
            return True
    return False


def _box(name: str, x: float, y: float) -> str:
    middle, base = x + BOX / 2, y + HEIGHT / 2 + 5
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{BOX}" height="{HEIGHT}" rx="6" '
        'fill="#eef2fb" stroke="#3f51b5"/>'
        f'<text x="{middle:.0f}" y="{base:.0f}" text-anchor="middle" font-size="14" '
        f'fill="#111">{escape(name)}</text>'
    )
