"""The built-in rules as one module of constants, which a build puts into the wheel: reading YAML takes longer than a small trace.

Imports nothing but the rule parser, so that the build can run it before anything is installed.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.engine.judging.conditions import Compare, FactIs, Joined, Known
from tfadvisor.engine.loading.rule import Cap, FixRule, Rule, SavingRule, parse_rule
from tfadvisor.engine.loading.yaml_marks import load
from tfadvisor.errors import RuleError
from tfadvisor.repair.registry import CodemodRef
from tfadvisor.report.model import SourceRef
from tfadvisor.vocabulary import Severity

COVERAGE = "coverage.yaml"
PREVIEW = "preview"
"""The folder of the rules that are off unless asked for."""
_MODULE = "catalogue"
_RECORDS: dict[str, type] = {
    one.__name__: one for one in (Rule, SavingRule, FixRule, Cap, SourceRef, CodemodRef, Compare, FactIs, Known, Joined)
}
# What a tuple that stands for something else begins with.
_MARK = ...


def compile_rules(source: Path, target: Path) -> None:
    """Writes the rules below a folder as a module into another. Raises RuleError for a rule that is wrong."""
    rules = tuple(in_its_folder(parse_rule(load(text, file))) for file, text in rule_files(source))
    text = f'"""Written by the build from the YAML files beside it."""\n\nRULES = {_frozen(rules)!r}\n'
    (target / f"{_MODULE}.py").write_text(text, encoding="utf-8")


def read_compiled(package: str) -> list[Rule] | None:
    """The rules of a package's compiled module; None where there is none, as in a checkout."""
    try:
        frozen = import_module(f"{package}.{_MODULE}").RULES
    except ModuleNotFoundError:
        return None
    return list(_thawed(frozen))


def _frozen(value: Any) -> Any:
    """A rule as constants: a record as its name and its fields in order, which were checked when it was parsed."""
    if isinstance(value, Severity):
        return (_MARK, "", value.value)
    if isinstance(value, msgspec.Struct):
        return (_MARK, type(value).__name__, *map(_frozen, msgspec.structs.astuple(value)))
    return tuple(_frozen(one) for one in value) if isinstance(value, tuple) else value


def _thawed(value: Any) -> Any:
    """The rule again, a third of the time that parsing it takes."""
    if type(value) is not tuple or not value:
        return value
    if value[0] is not _MARK:
        return tuple([_thawed(one) for one in value])
    kind = _RECORDS.get(value[1])
    if kind is None:
        return Severity(value[2])
    return kind(*map(_thawed, value[2:]))


def rule_files(root: Path) -> list[tuple[str, str]]:
    """(name, text) of the rule files of the families below a folder and below its `preview`, in order."""
    paths = [*root.glob("*/*.yaml"), *root.glob(f"{PREVIEW}/*/*.yaml")]
    return [
        (f"rules/{path.relative_to(root).as_posix()}", path.read_text(encoding="utf-8"))
        for path in sorted(filter(lambda one: is_rule(one.name), paths))
    ]


def in_its_folder(rule: Rule) -> Rule:
    """The rule. Raises RuleError where its tier is not that of its folder: those of families in `preview` are preview."""
    if (PREVIEW in [one.name for one in Path(rule.file).parents][:2]) != rule.is_preview:
        raise RuleError(rule.file, 1, "tier", f"must be preview in a folder called {PREVIEW}, and only there")
    return rule


def is_rule(name: str) -> bool:
    """Whether a file name is that of a rule, not of its cases or of the list of what rules cover."""
    return name.endswith(".yaml") and not name.endswith(".cases.yaml") and name != COVERAGE
