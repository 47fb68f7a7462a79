"""Tests see what is installed, also under `python -m pytest`, which puts the checkout before it."""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

if not any(
    (ROOT / "tfadvisor" / "xplane" / f"_wire{end}").exists() for end in EXTENSION_SUFFIXES
):  # not built in place
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != ROOT]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of every module that imports subprocess, so that nobody has to remember it."""
    for item in items:
        if hasattr(getattr(item, "module", None), "subprocess"):
            item.add_marker("subprocess")
