"""The counts of the house are those of the tree."""

from __future__ import annotations

import runpy
from pathlib import Path

from support.places import ROOT, RULES


def test_it_counts_modules_lines_and_rules(tmp_path: Path) -> None:
    package = tmp_path / "tfadvisor" / "one"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "below.py").write_text("a = 1\nb = 2\n", encoding="utf-8")

    counts = runpy.run_path(str(ROOT / "docs" / "house.py"))["house"](tmp_path)

    assert (counts["packages"], counts["modules"], counts["lines"]) == (1, 2, 2)
    files = [
        one
        for one in RULES.rglob("*.yaml")
        if not one.name.endswith(".cases.yaml") and one.name != "coverage.yaml"
    ]
    assert sum(
        number for name, number in counts.items() if name.startswith("rules, ")
    ) == len(files)
    assert counts["metrics"] > counts["facts"] > 0
