"""Where things lie in a checkout."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
"""Recorded runs, a folder each, with the truth about each in `truth.yaml`."""
RULES = ROOT / "rules"
"""The built-in rules, each beside its cases."""


@cache
def tree_of(path: Path) -> ast.Module:
    """A module's syntax tree; nobody changes it."""
    return ast.parse(path.read_text(encoding="utf-8"))
