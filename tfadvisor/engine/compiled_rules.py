"""The built-in rules as one JSON file, which a build puts into the wheel: reading YAML takes longer than a small trace.

Imports nothing but the rule parser, so that the build can run it before anything is installed.
"""

from __future__ import annotations

import json
from pathlib import Path

from tfadvisor.engine.rule import Rule, parse_rule
from tfadvisor.engine.yaml_marks import Marked, load

COVERAGE = "coverage.yaml"
_NAME = "catalogue.json"


def compile_rules(source: Path, target: Path) -> None:
    """Writes the rules below a folder into the compiled file of another. Raises RuleError for a rule that is wrong."""
    marked = [load(text, file) for file, text in rule_files(source)]
    for one in marked:
        parse_rule(one)
    (target / _NAME).write_text(json.dumps([{"file": one.file, "data": one.data} for one in marked]), encoding="utf-8")


def read_compiled(folder: Path) -> list[Rule] | None:
    """The rules of a compiled file; None where there is none."""
    path = folder / _NAME
    if not path.exists():
        return None
    entries = json.loads(path.read_text(encoding="utf-8"))
    return [parse_rule(Marked(entry["file"], entry["data"], {"": 1})) for entry in entries]


def rule_files(root: Path) -> list[tuple[str, str]]:
    """(name, text) of the rule files of the families below a folder, in order."""
    paths = sorted(path for path in root.glob("*/*.yaml") if is_rule(path.name))
    return [(f"rules/{path.parent.name}/{path.name}", path.read_text(encoding="utf-8")) for path in paths]


def is_rule(name: str) -> bool:
    """Whether a file name is that of a rule, not of its cases or of the list of what rules cover."""
    return name.endswith(".yaml") and not name.endswith(".cases.yaml") and name != COVERAGE
