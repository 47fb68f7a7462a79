"""The notebook in docs/, cell by cell, as a kernel runs it: the last expression of a
cell is what the cell shows.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[3] / "docs"


def shown(cell: str, names: dict[str, Any]) -> Any:
    """Runs a cell and returns the value of its last expression."""
    tree = ast.parse(cell)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), cell
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_every_cell_shows_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS)
    notebook = json.loads((DOCS / "notebook.ipynb").read_text("utf-8"))
    cells = [
        "".join(one["source"])
        for one in notebook["cells"]
        if one["cell_type"] == "code"
    ]
    names: dict[str, Any] = {"__name__": "__main__"}

    report, findings, metrics, absent, steps, ops, change, causes, events, other = (
        shown(cell, names) for cell in cells
    )

    assert "INPUT-BOUND" in report._repr_html_()
    assert "input-not-prefetched" in set(findings["rule_id"])
    assert metrics.loc["input_bound_fraction", "value"] > 0.2
    assert absent["reason"].str.len().gt(0).all()
    assert (steps["duration_ms"] > 0).all()
    assert not ops.empty
    assert "input" in repr(change)
    assert "input" in set(causes["class"])
    assert events["ms"].is_monotonic_decreasing
    assert "HOST-BOUND" in other._repr_html_()
    assert all(
        one["outputs"] == [] for one in notebook["cells"] if one["cell_type"] == "code"
    )
