"""All rules: the built-in ones, compiled or as YAML, and those of folders that the user
adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

import msgspec

from tfadvisor.advice.codemods import CodemodRef
from tfadvisor.advice.judging.conditions import is_known, names_in, placeholders
from tfadvisor.advice.loading.rule import FixRule, Rule, SavingRule, parse_rule
from tfadvisor.advice.loading.yaml_marks import Marked, load, read_rule_file
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import RuleError, UsageError

_PACKAGE = "tfadvisor.rules"


class Catalogue(msgspec.Struct, frozen=True):
    """All rules that are to run."""

    rules: tuple[Rule, ...]
    """By id."""
    broken: tuple[RuleError, ...]
    """Files that could not be used; the others still run."""


def load_catalogue(
    extra: Sequence[Path] = (),
    disabled: Sequence[str] = (),
    *,
    preview: bool = False,
) -> Catalogue:
    """The built-in rules and those of the extra folders, without the disabled ones.

    preview: with the rules of tier preview, whose ids are known in any case. Raises
    UsageError for a folder that is not there and a disabled id that no rule has. A
    broken file is reported in `broken`, not raised.
    """
    rules = {rule.id: rule for rule in built_in_rules()}
    broken: list[RuleError] = []
    for folder in extra:
        if not folder.is_dir():
            raise UsageError(f"--rules {folder}: no such folder.")
    for file, text in _files_of(extra, broken):
        try:
            rule = _added(load(text, file), rules)
        except RuleError as error:
            broken.append(error)
        else:
            rules[rule.id] = rule

    _refuse_unknown(disabled, rules)
    kept = [
        rule
        for rule in sorted(rules.values(), key=lambda rule: rule.id)
        if rule.id not in disabled and (preview or not rule.is_preview)
    ]
    return Catalogue(tuple(kept), tuple(broken))


def _added(marked: Marked, rules: Mapping[str, Rule]) -> Rule:
    """A rule of an extra folder. Raises RuleError for a wrong one, and for an id that
    is taken.
    """
    rule = checked(marked)
    other = rules.get(rule.id)
    if other is None:
        return rule
    taken = f"{rule.id} is already taken by {other.file}"
    raise RuleError(
        file=marked.file,
        line=1,
        field="id",
        cause=taken,
    )


def _refuse_unknown(disabled: Sequence[str], rules: Mapping[str, Rule]) -> None:
    for rule_id in disabled:
        if rule_id not in rules:
            meant = did_you_mean(rule_id, rules)
            raise UsageError(
                f"--disable {rule_id}: no rule has this id.{meant} `tfadvisor rules "
                "list` names them all."
            )


def codemods_by_rule(extra: Sequence[Path] = ()) -> dict[str, tuple[CodemodRef, ...]]:
    """What may patch a program for each rule, those of preview too. Raises UsageError
    for a folder that is not there.
    """
    rules = load_catalogue(extra, preview=True).rules
    return {rule.id: rule.codemods for rule in rules}


def checked(marked: Marked) -> Rule:
    """A rule whose every field is right and whose every metric and fact exists."""
    from tfadvisor.metrics import (
        PLACES,
    )  # a build compiles rules without NumPy

    rule = parse_rule(marked)
    for path, name in _mentioned(rule):
        is_place = path.startswith("locations") and name in PLACES
        if not is_known(name) and not is_place:
            raise marked.error(path, f"no metric or fact is called {name!r}")
    return rule


_Mentions = Iterator[tuple[str, str]]
"""(field, metric or fact that it names)."""


def _mentioned(rule: Rule) -> _Mentions:
    """Of all fields but snippets, where braces may be code."""
    for name in names_in(rule.when):
        yield "when", name
    yield from _in_text("summary", rule.summary)
    yield from _in_text("title", rule.title)
    yield from _in_text("ask", rule.ask)
    if rule.takes:
        yield "takes", rule.takes
    for index, name in enumerate(rule.evidence):
        yield f"evidence.{index}", name
    for index, name in enumerate(rule.locations):
        yield f"locations.{index}", name
    if rule.saving is not None:
        yield from _in_saving(rule.saving)
    for index, fix in enumerate(rule.fixes):
        yield from _in_fix(f"fixes.{index}", fix)


def _in_text(field: str, text: str) -> _Mentions:
    for name in placeholders(text):
        yield field, name


def _in_saving(saving: SavingRule) -> _Mentions:
    yield "saving.metric", saving.metric
    if saving.whole:
        yield "saving.whole", saving.whole
    if saving.reach:
        yield "saving.reach", saving.reach
    yield from _in_text("saving.basis", saving.basis)


def _in_fix(field: str, fix: FixRule) -> _Mentions:
    yield from _in_text(f"{field}.do", fix.do)
    yield from _in_text(f"{field}.side_effect", fix.side_effect)
    for variable, text in fix.env.items():
        yield from _in_text(f"{field}.env.{variable}", text)
    for part, condition in (("needs", fix.needs), ("never", fix.never)):
        names = [] if condition is None else names_in(condition)
        for name in names:
            yield f"{field}.{part}", name


def built_in_rules() -> list[Rule]:
    """The rules of the package: compiled when it was built, else read from their YAML,
    as in a development checkout.
    """
    compiled = read_compiled(_PACKAGE)
    if compiled is not None:
        return compiled
    found: list[Rule] = []
    for file, text in rule_files(rules_folder()):
        rule = checked(load(text, file, ours=True))
        found.append(in_its_folder(rule))
    return found


def rules_folder() -> Path:
    """The build maps the folder into the package; a checkout that is not installed has
    it beside the package.
    """
    try:
        return Path(import_module(_PACKAGE).__path__[0])
    except ModuleNotFoundError:
        return Path(__file__).parents[3] / "rules"


def _files_of(
    folders: Sequence[Path], broken: list[RuleError]
) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for folder in folders:
        for file in sorted(folder.rglob("*.yaml")):
            if not is_rule(file.name):
                continue
            try:
                found.append((str(file), read_rule_file(file)))
            except RuleError as error:
                broken.append(error)
    return found


# The built-in rules as JSON in a module, which a build puts into the wheel: reading
# YAML takes longer than a small trace.

COVERAGE = "coverage.yaml"
PREVIEW = "preview"
"""The folder of the rules that are off unless asked for."""
_MODULE = "catalogue"


def compile_rules(source: Path, target: Path) -> None:
    """Writes the rules below a folder as a module into another. Raises RuleError for a
    rule that is wrong.
    """
    rules: list[Rule] = []
    for file, text in rule_files(source):
        rule = parse_rule(load(text, file))
        rules.append(in_its_folder(rule))

    module = (
        '"""Written by the build from the YAML files beside it."""\n\nRULES = '
        f"{msgspec.json.encode(rules)!r}\n"
    )
    (target / f"{_MODULE}.py").write_text(module, encoding="utf-8")


def read_compiled(package: str) -> list[Rule] | None:
    """The rules of a package's compiled module; None where there is none, as in a
    checkout.
    """
    try:
        module = import_module(f"{package}.{_MODULE}")
    except ModuleNotFoundError:
        return None
    return msgspec.json.decode(module.RULES, type=list[Rule])


def rule_files(root: Path) -> list[tuple[str, str]]:
    """(name, text) of the rule files of the families below a folder and below its
    `preview`, in order.
    """
    every = [*root.glob("*/*.yaml"), *root.glob(f"{PREVIEW}/*/*.yaml")]
    found: list[tuple[str, str]] = []
    for path in sorted(every):
        if is_rule(path.name):
            name = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8")
            found.append((f"rules/{name}", text))
    return found


def in_its_folder(rule: Rule) -> Rule:
    """The rule. Raises RuleError where its tier is not that of its folder: those of
    families in `preview` are preview.
    """
    above = [parent.name for parent in Path(rule.file).parents]
    if (PREVIEW in above[:2]) == rule.is_preview:
        return rule
    cause = f"must be preview in a folder called {PREVIEW}, and only there"
    raise RuleError(
        file=rule.file,
        line=1,
        field="tier",
        cause=cause,
    )


def is_rule(name: str) -> bool:
    """Whether a file name is that of a rule, not of its cases or of the list of what
    rules cover.
    """
    if name == COVERAGE or name.endswith(".cases.yaml"):
        return False
    return name.endswith(".yaml")
