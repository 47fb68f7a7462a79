"""Tests see what is installed, also under `python -m pytest`, which puts the checkout
before it.

Hypothesis never judges by the clock, and on a CI machine (CI is set) it draws the same
examples every time.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from hypothesis import settings
from support.places import ROOT

if not any(
    (ROOT / "tfadvisor" / "trace" / f"_wire{end}").exists()
    for end in EXTENSION_SUFFIXES
):  # not built in place
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != ROOT]

settings.register_profile(
    "tests", deadline=None, derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests of modules that import subprocess, and as nightly those that open a
    browser, but for the few of every push.
    """
    for item in items:
        if "chromium" in getattr(
            item, "fixturenames", ()
        ) and not item.get_closest_marker("every_push"):
            item.add_marker("nightly")
        if hasattr(getattr(item, "module", None), "subprocess"):
            item.add_marker("subprocess")


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]):
    """Runs the command in this process: exit code, standard output, standard error."""
    from support.said import sayer  # what is installed, which the path above decides

    return sayer(capsys)
