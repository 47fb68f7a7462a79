"""The changes that the mutation benchmark makes, and that it tells a test that sees them from one that does not."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest
import yaml
from support.places import ROOT

BENCHMARKS = ROOT / "benchmarks"


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("x = 3", ["x: x = 3 → x = 4", "x: x = 3 → x = 2"]),
        ("x = 0.2", ["x: x = 0.2 → x = 0.25", "x: x = 0.2 → x = 0.15000000000000002"]),
        ("x = 400", ["x: x = 400 → x = 500", "x: x = 400 → x = 300"]),
        ("x = a < b", ["x: a < b → a <= b"]),
        ("x = a is b", ["x: a is b → a is not b"]),
        ("x = a and b", ["x: a and b → a or b", "x: a and b → b and b", "x: a and b → a and a"]),
        ("x = a + b", ["x: a + b → a - b"]),
        ("x = not a", ["x: not a → not not a"]),
        ("x = {'a': b, 'c': d}", ["x: without 'a'", "x: without 'c'"]),
        ("x = 'up down'.split()", ["x: without up", "x: without down"]),
        ("def f():\n    if a: b()", ["f: if a: → if True:", "f: if a: → if False:"]),
        ("def f():\n    return [a for a in b if a]", ["f: for a in b if a → for a in b"]),
        ("def f(a: int = 1) -> Literal[2]:\n    assert a == 3", ["f: a: int=1 → a: int=2", "f: a: int=1 → a: int=0"]),
        ("if TYPE_CHECKING:\n    x = 1", []),
    ],
)
def test_each_change_is_made_by_itself(source: str, changes: list[str]) -> None:
    assert [name for name, _ in loaded("core_mutants").mutants(source, "x.py")] == changes


def test_the_changed_code_runs() -> None:
    """2 + 2, 0 + 2, 1 + 3, 1 + 1 and 1 - 2."""
    results = []
    for _, code in loaded("core_mutants").mutants("x = 1 + 2", "x.py"):
        names: dict[str, int] = {}
        exec(code, names)
        results.append(names["x"])

    assert results == [4, 2, 4, 2, -1]


def test_modules_and_tests_of_the_table_are_there() -> None:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        table = loaded("mutate_core").MODULES
    finally:
        sys.path.remove(str(BENCHMARKS))
    for module, tests in table.items():
        assert (BENCHMARKS.parent / "tfadvisor" / module).is_file(), module
        assert all((BENCHMARKS.parent / "tests" / one).exists() for one in tests), module


def test_every_equivalent_mutant_is_one_of_its_module() -> None:
    listed = yaml.safe_load((BENCHMARKS / "equivalent_mutants.yaml").read_text(encoding="utf-8"))
    mutants = loaded("core_mutants").mutants
    for module, reasons in listed.items():
        source = (BENCHMARKS.parent / "tfadvisor" / module).read_text(encoding="utf-8")
        assert set(reasons) <= {name for name, _ in mutants(source, module)}
        assert all(reasons.values())
