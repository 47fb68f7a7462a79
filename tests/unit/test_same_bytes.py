"""A report is the same bytes whatever Python reads the trace."""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterable
from typing import Any

import pytest
from support.places import ROOT

import tfadvisor


def compensated(items: Iterable[Any], start: Any = 0) -> Any:
    """The sum of Python 3.12 and newer, which loses no digits of floats."""
    every = [start, *items]
    return (
        math.fsum(every)
        if any(isinstance(one, float) for one in every)
        else naive(every)
    )


def naive(items: Iterable[Any], start: Any = 0) -> Any:
    """The sum of Python 3.11 and older, which rounds after each item."""
    for one in items:
        start = start + one
    return start


@pytest.mark.parametrize(
    "name",
    [
        "jax-4dev-imbalance",
        "jax-logging",
        "tf-heavy-map",
        "tf-eager",
        "tf-workers-balanced",
    ],
)
def test_no_number_depends_on_how_python_adds_floats(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = []
    for way in (naive, compensated):
        monkeypatch.setattr(builtins, "sum", way)
        reports.append(tfadvisor.analyze(ROOT / "fixtures" / name).to_dict())

    assert reports[0] == reports[1]
