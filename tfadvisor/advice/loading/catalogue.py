"""All rules: the built-in ones, compiled or as YAML, and those of folders that the user
adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

import msgspec

from tfadvisor.advice.judging.conditions import is_known, names_in, placeholders
from tfadvisor.advice.loading.rule import Rule, parse_rule
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
    rules: dict[str, Rule] = {rule.id: rule for rule in built_in_rules()}
    broken: list[RuleError] = []
    for folder in extra:
        if not folder.is_dir():
            raise UsageError(f"--rules {folder}: no such folder.")
    for file, text in _files_of(extra, broken):
        try:
            rule = checked(load(text, file))
            if rule.id in rules:
                raise RuleError(
                    file,
                    1,
                    "id",
                    f"{rule.id} is already taken by {rules[rule.id].file}",
                )
            rules[rule.id] = rule
        except RuleError as error:
            broken.append(error)
    unknown = [rule_id for rule_id in disabled if rule_id not in rules]
    if unknown:
        meant = did_you_mean(unknown[0], rules)
        raise UsageError(
            f"--disable {unknown[0]}: no rule has this id.{meant} `tfadvisor rules "
            "list` names them all."
        )
    every = sorted(rules.values(), key=lambda rule: rule.id)
    kept = tuple(
        rule
        for rule in every
        if rule.id not in disabled and (preview or not rule.is_preview)
    )
    return Catalogue(kept, tuple(broken))


def checked(marked: Marked) -> Rule:
    """A rule whose every field is right and whose every metric and fact exists."""
    from tfadvisor.metrics.registry import (
        PLACES,
    )  # a build compiles rules without NumPy

    rule = parse_rule(marked)
    for path, name in _mentioned(rule):
        if not is_known(name) and not (path.startswith("locations") and name in PLACES):
            raise marked.error(path, f"no metric or fact is called {name!r}")
    return rule


def _mentioned(rule: Rule) -> Iterable[tuple[str, str]]:
    """(field, metric or fact that it names). Not of snippets, where braces may
    be code.
    """
    for name in names_in(rule.when):
        yield "when", name
    for field, text in (
        ("summary", rule.summary),
        ("title", rule.title),
        ("ask", rule.ask),
    ):
        for name in placeholders(text):
            yield field, name
    yield from (("takes", name) for name in [rule.takes] if name)
    for index, name in enumerate(rule.evidence):
        yield f"evidence.{index}", name
    for index, name in enumerate(rule.locations):
        yield f"locations.{index}", name
    if rule.saving is not None:
        yield "saving.metric", rule.saving.metric
        yield "saving.whole", rule.saving.whole or rule.saving.metric
        yield "saving.reach", rule.saving.reach or rule.saving.metric
        for name in placeholders(rule.saving.basis):
            yield "saving.basis", name
    for index, fix in enumerate(rule.fixes):
        texts = {
            "do": fix.do,
            "side_effect": fix.side_effect,
            **{f"env.{key}": text for key, text in fix.env.items()},
        }
        for field, text in texts.items():
            for name in placeholders(text):
                yield f"fixes.{index}.{field}", name
        if fix.when is not None:
            for name in names_in(fix.when):
                yield f"fixes.{index}.when", name


def built_in_rules() -> list[Rule]:
    """The rules of the package: compiled when it was built, else read from their YAML,
    as in a development checkout.
    """
    compiled = read_compiled(_PACKAGE)
    if compiled is not None:
        return compiled
    root = rules_folder()
    return [
        in_its_folder(checked(load(text, file, ours=True)))
        for file, text in rule_files(root)
    ]


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
    found = []
    for folder in folders:
        for file in sorted(folder.rglob("*.yaml")):
            if is_rule(file.name):
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
    rules = tuple(
        in_its_folder(parse_rule(load(text, file))) for file, text in rule_files(source)
    )
    text = (
        '"""Written by the build from the YAML files beside it."""\n\nRULES = '
        f"{msgspec.json.encode(rules)!r}\n"
    )
    (target / f"{_MODULE}.py").write_text(text, encoding="utf-8")


def read_compiled(package: str) -> list[Rule] | None:
    """The rules of a package's compiled module; None where there is none, as in a
    checkout.
    """
    try:
        return msgspec.json.decode(
            import_module(f"{package}.{_MODULE}").RULES, type=list[Rule]
        )
    except ModuleNotFoundError:
        return None


def rule_files(root: Path) -> list[tuple[str, str]]:
    """(name, text) of the rule files of the families below a folder and below its
    `preview`, in order.
    """
    paths = [*root.glob("*/*.yaml"), *root.glob(f"{PREVIEW}/*/*.yaml")]
    return [
        (f"rules/{path.relative_to(root).as_posix()}", path.read_text(encoding="utf-8"))
        for path in sorted(filter(lambda one: is_rule(one.name), paths))
    ]


def in_its_folder(rule: Rule) -> Rule:
    """The rule. Raises RuleError where its tier is not that of its folder: those of
    families in `preview` are preview.
    """
    if (
        PREVIEW in [one.name for one in Path(rule.file).parents][:2]
    ) != rule.is_preview:
        raise RuleError(
            rule.file,
            1,
            "tier",
            f"must be preview in a folder called {PREVIEW}, and only there",
        )
    return rule


def is_rule(name: str) -> bool:
    """Whether a file name is that of a rule, not of its cases or of the list of what
    rules cover.
    """
    return (
        name.endswith(".yaml") and not name.endswith(".cases.yaml") and name != COVERAGE
    )
