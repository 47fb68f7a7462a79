"""Where things lie in a checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
"""Recorded runs, a folder each, with the truth about each in `truth.yaml`."""
RULES = ROOT / "rules"
"""The built-in rules, each beside its cases."""
