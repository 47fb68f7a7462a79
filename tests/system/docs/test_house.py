"""The counts of the house are those of the tree."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest
from support.places import ROOT, RULES


def test_it_counts_modules_tokens_and_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tfadvisor" / "one"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "below.py").write_text(
        '"""One."""\na = 1\nb = 2  # two\n', encoding="utf-8"
    )

    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    counts = runpy.run_path(str(ROOT / "docs" / "house.py"))["house"](tmp_path)

    assert (counts["packages"], counts["modules"]) == (1, 2)
    assert (counts["tokens"], counts["tokens a line"]) == (6, 3)
    files = [
        one
        for one in RULES.rglob("*.yaml")
        if not one.name.endswith(".cases.yaml") and one.name != "coverage.yaml"
    ]
    assert sum(
        number for name, number in counts.items() if name.startswith("rules, ")
    ) == len(files)
    assert min(counts["metrics"], counts["facts"]) > 200


def test_no_function_is_complex_but_those_that_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The list, at most 107 long, only gets shorter: who simplifies one takes it out."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    names = runpy.run_path(str(ROOT / "docs" / "density.py"))

    assert list(names["density"]().complex) == names["listed"]()


def test_branches_are_counted_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """1, `if`, `and`, `for` in a comprehension with its `if`, a conditional, `except`."""
    names = runpy.run_path(str(ROOT / "docs" / "density.py"))
    function = (
        "def f(a, b):\n"
        "    if a and b:\n"
        "        return [one for one in a if one]\n"
        "    try:\n"
        "        return 1 if a else 2\n"
        "    except ValueError:\n"
        "        return 3\n"
    )

    assert names["branches"](ast.parse(function)) == 7
