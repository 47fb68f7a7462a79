"""Every script of the benchmarks starts: what it imports of the package is there."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from support.places import ROOT

BENCHMARKS = ROOT / "benchmarks"
TRAIN = ("programs_to_run", "programs", "data")
"""Folders of programs that a benchmark runs: they train when they are imported."""
NOT_IN_TEST = ("xprof", "playwright")
"""What some scripts need and the extra `test` does not bring."""
SCRIPTS = [
    file
    for file in sorted(BENCHMARKS.rglob("*.py"))
    if not set(TRAIN) & set(file.relative_to(BENCHMARKS).parts)
]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch):
    """Scripts import what lies beside them by names that another folder has too."""
    scripts = (BENCHMARKS, BENCHMARKS.parent / "fixtures")
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and any(map(Path(file).is_relative_to, scripts)):
            monkeypatch.delitem(sys.modules, name)
    before = dict(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name not in before and file and Path(file).is_relative_to(BENCHMARKS):
            del sys.modules[name]


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "script", SCRIPTS, ids=lambda file: str(file.relative_to(BENCHMARKS))
)
def test_a_script_can_be_imported(script: Path) -> None:
    folders = [one for one in script.parents if one.is_relative_to(BENCHMARKS)]
    sys.path[:0] = [str(one) for one in folders if not (one / "__init__.py").is_file()]
    spec = importlib.util.spec_from_file_location(f"script_{script.stem}", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module

    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        if error.name not in NOT_IN_TEST:
            raise
        pytest.skip(f"{error.name} is not installed")

    assert module.__doc__ or script.name == "__init__.py"
