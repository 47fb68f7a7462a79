"""Checks the words of pages, rules, metric definitions, help and docstrings against the
style in styles/tfadvisor.

python docs/lint_words.py              list errors, count warnings; exit code 1 when there is an error
python docs/lint_words.py --warnings   list warnings too
python docs/lint_words.py --pages      only pages
python docs/lint_words.py FILE…        only these Markdown files

The style is written in Vale's format (`existence`, `substitution` and `occurrence`
rules), so Vale shows the same in an editor. This reader needs no binary, and it also
reads what Vale cannot: texts inside rules and Python files. Docstrings are judged by
the files of the style whose names begin with `Dialect` only.

Names that the package defines are counted by styles/identifiers.yaml: each is a
warning, and more of them than it allows are an error.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[1]
STYLE = ROOT / "styles" / "tfadvisor"
NAMES = ROOT / "styles" / "identifiers.yaml"
# the first words of a page whose text is checked where it comes from
GENERATED = "<!-- written by"
RULE_TEXTS = (
    "title",
    "why",
    "summary",
    "do",
    "side_effect",
    "basis",
    "valid_for",
    "ask",
    "because",
)
_CODE = re.compile(r"`[^`]*`")
PLACEHOLDER = re.compile(r"\{\w+(?:\|[^{}|]+\|([^{}|]+))?\}")


class Text(NamedTuple):
    """A paragraph or a sentence of a definition. place: file or name; line: of its
    first word, from 1.
    """

    place: str
    line: int
    words: str


class Remark(NamedTuple):
    """What the style says about one phrase."""

    place: str
    line: int
    level: str
    message: str


class Rule(NamedTuple):
    """One file of the style. patterns: (what is looked for, message)."""

    name: str
    level: str
    patterns: list[tuple[re.Pattern[str], str]]
    most: int | None  # words in a sentence, where the rule counts instead of looking


def main(arguments: Sequence[str]) -> int:
    """1 when the style finds an error, else 0."""
    options = argparse.ArgumentParser(
        description="Checks words against styles/tfadvisor."
    )
    options.add_argument("--warnings", action="store_true", help="list warnings too")
    options.add_argument("--pages", action="store_true", help="only pages")
    options.add_argument(
        "files", nargs="*", type=Path, help="Markdown files; everything without"
    )
    given = options.parse_args(arguments)
    texts = pages(given.files or tracked_pages())
    if not given.files and not given.pages:
        texts += [*rule_texts(), *definitions(), *helps()]
    style = read_style(STYLE)
    remarks = lint(texts, style)
    if not given.files and not given.pages:
        code = docstrings(ROOT / "tfadvisor")
        remarks += lint(code, [one for one in style if one.name.startswith("Dialect")])
        names = identifiers(ROOT / "tfadvisor")
        for ceiling in read_ceilings(NAMES):
            remarks += above(ceiling, names)
        texts += [*code, *names]
    errors = [remark for remark in remarks if remark.level == "error"]
    for remark in remarks if given.warnings else errors:
        print(f"{remark.place}:{remark.line}: {remark.level}: {remark.message}")
    print(
        f"{len(errors)} errors, {len(remarks) - len(errors)} warnings in "
        f"{len(texts)} texts"
    )
    return 1 if errors else 0


class Ceiling(NamedTuple):
    """How many names of a kind there may be. name: of the kind."""

    name: str
    pattern: re.Pattern[str]
    most: int


def read_ceilings(file: Path) -> list[Ceiling]:
    """What styles/identifiers.yaml allows."""
    return [
        Ceiling(entry["name"], re.compile(entry["pattern"]), entry["most"])
        for entry in yaml.safe_load(file.read_text("utf-8"))
    ]


def above(ceiling: Ceiling, names: Sequence[Text]) -> list[Remark]:
    """A warning for each name of the kind, and an error where they are too many."""
    found = [
        Remark(name.place, name.line, "warning", f"{ceiling.name}: '{name.words}'")
        for name in names
        if ceiling.pattern.search(name.words)
    ]
    if len(found) > ceiling.most:
        said = f"{ceiling.name}: {len(found)} names, at most {ceiling.most} may be."
        found.append(Remark(_shown(NAMES), 1, "error", said))
    return found


def read_style(folder: Path) -> list[Rule]:
    """Every rule of a style in Vale's format. Raises ValueError for a kind of rule that
    this reader does not know.
    """
    return [
        _rule(file.stem, yaml.safe_load(file.read_text("utf-8")))
        for file in sorted(folder.glob("*.yml"))
    ]


def _rule(name: str, fields: dict[str, Any]) -> Rule:
    flags = re.IGNORECASE if fields.get("ignorecase") else 0
    message, edge = fields["message"], "" if fields.get("nonword") else r"\b"
    if fields["extends"] == "occurrence":
        return Rule(
            name,
            fields["level"],
            [(re.compile(fields["token"]), message)],
            fields["max"],
        )
    if fields["extends"] == "existence":
        found = [(f"{edge}(?:{token}){edge}", message) for token in fields["tokens"]]
    elif fields["extends"] == "substitution":
        found = [
            (rf"\b(?:{old})\b", message.replace("%s", new, 1))
            for old, new in fields["swap"].items()
        ]
    else:
        raise ValueError(
            f"{name}: this reader knows no rule of the kind {fields['extends']!r}"
        )
    return Rule(
        name,
        fields["level"],
        [(re.compile(pattern, flags), text) for pattern, text in found],
        None,
    )


def lint(texts: Sequence[Text], rules: Sequence[Rule]) -> list[Remark]:
    """What the rules say about the texts, in the order of the texts."""
    return [
        remark for text in texts for rule in rules for remark in _remarks(text, rule)
    ]


def _remarks(text: Text, rule: Rule) -> Iterator[Remark]:
    if rule.most is not None:
        [(word, message)] = rule.patterns
        for sentence in re.finditer(
            r"[^.!?:;|]+(?:[.!?:;|](?=\S)[^.!?:;|]*)*", text.words
        ):
            if len(word.findall(sentence.group())) > rule.most:
                yield Remark(
                    text.place, _line(text, sentence.start()), rule.level, message
                )
        return
    for pattern, message in rule.patterns:
        for found in pattern.finditer(text.words):
            phrase = " ".join(found.group().split())
            yield Remark(
                text.place,
                _line(text, found.start()),
                rule.level,
                message.replace("%s", phrase),
            )


def _line(text: Text, position: int) -> int:
    return text.line + text.words.count("\n", 0, position)


def tracked_pages() -> list[Path]:
    """Markdown files that git knows and no script writes."""
    listed = subprocess.run(
        ["git", "ls-files", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    files = [ROOT / name for name in listed.splitlines()]
    return [file for file in files if not _is_generated(file)]


def _is_generated(file: Path) -> bool:
    """A template begins with the same note as the page that is made from it, but names
    itself as what to edit.
    """
    head = file.read_text("utf-8").partition("\n")[0]
    return head.startswith(GENERATED) and _shown(file) not in head


def pages(files: Sequence[Path]) -> list[Text]:
    """The prose of Markdown files, paragraph by paragraph."""
    return [
        text for file in files for text in prose(_shown(file), file.read_text("utf-8"))
    ]


def _shown(file: Path) -> str:
    whole = file.resolve()
    return str(whole.relative_to(ROOT)) if whole.is_relative_to(ROOT) else str(file)


def prose(place: str, markdown: str) -> list[Text]:
    """Paragraphs without code, comments and addresses; what is taken out leaves its
    line breaks, so lines stay right.
    """
    for pattern in (
        r"^( *)```.*?^\1```",
        r"<!--.*?-->",
        r"`[^`]*`",
        r"(?<=\])\([^)]*\)",
        r"<https?://[^>]*>",
    ):
        markdown = re.sub(
            pattern,
            lambda found: "\n" * found.group().count("\n") or "_",
            markdown,
            flags=re.DOTALL | re.MULTILINE,
        )
    texts, line = [], 1
    for paragraph in re.split(r"(\n\s*\n)", markdown):
        if paragraph.strip():
            texts.append(Text(place, line, paragraph))
        line += paragraph.count("\n")
    return texts


def rule_texts() -> list[Text]:
    """What rules print: id, title, reason, summary, fixes, side effects, basis of the
    saving.
    """
    files = [
        file
        for file in sorted((ROOT / "rules").rglob("*.yaml"))
        if not file.name.endswith(".cases.yaml")
    ]
    texts = []
    for file in files:
        whole = file.read_text("utf-8")
        texts.append(Text(str(file.relative_to(ROOT)), 1, file.stem.replace("-", " ")))
        for words in _fields(yaml.safe_load(whole)):
            start = whole.find(
                words.partition("\n")[0][:20]
            )  # YAML folds lines, so only a text's beginning is found
            line = whole.count("\n", 0, max(start, 0)) + 1
            texts.append(
                Text(
                    str(file.relative_to(ROOT)),
                    line,
                    PLACEHOLDER.sub(_shown_word, words),
                )
            )
    return texts


def _shown_word(placeholder: re.Match[str]) -> str:
    """What stands for `{metric}` or `{metric|step|steps}` in a text that is checked."""
    return f"_ {placeholder.group(1)}" if placeholder.group(1) else "_"


def _fields(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for one in node:
            yield from _fields(one)
    elif isinstance(node, dict):
        for name, value in node.items():
            if name in RULE_TEXTS and isinstance(value, str):
                yield value
            else:
                yield from _fields(value)


def definitions() -> list[Text]:
    """Metrics and facts, as reports and the reference define them."""
    import tfadvisor.metrics  # noqa: F401
    from tfadvisor.metrics.registry import registered_facts, registered_metrics

    metrics = [
        Text(f"metric {metric.name}", 1, metric.about)
        for metric in registered_metrics().values()
    ]
    return metrics + [
        Text(f"fact {fact.name}", 1, fact.about) for fact in registered_facts().values()
    ]


def helps() -> list[Text]:
    """What `tfadvisor COMMAND --help` prints: of each command and of its options,
    without the examples.
    """
    import typer.main  # single pages need no command

    from tfadvisor.cli.typer_app import app

    top = typer.main.get_command(app)
    return [*_helps(top, typer.Context(top, info_name="tfadvisor"))]


def _helps(command: Any, context: Any) -> Iterator[Text]:
    place = f"{context.command_path} --help"
    for words in (
        command.help,
        command.short_help,
        *(getattr(param, "help", None) for param in command.params),
    ):
        if words:
            yield Text(place, 1, _CODE.sub("_", words))
    for name in (
        command.list_commands(context) if hasattr(command, "list_commands") else ()
    ):
        below = command.get_command(context, name)
        yield from _helps(below, type(context)(below, info_name=name, parent=context))


def docstrings(package: Path) -> list[Text]:
    """Docstrings of modules, classes, functions, fields and constants, without code in
    backticks.
    """
    texts = []
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                texts.append(
                    Text(_shown(file), node.lineno, _CODE.sub("_", node.value.value))
                )
    return texts


_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")


def identifiers(package: Path) -> list[Text]:
    """Each name that the package defines, as its words in lower case: of functions,
    classes, arguments, variables and fields, as often as it is bound.
    """
    texts = []
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = _defined(node)
            if name:
                words = " ".join(_WORD.findall(name)).lower()
                texts.append(Text(_shown(file), node.lineno, words))
    return texts


def _defined(node: Any) -> str:
    """The name that a node binds, "" for another node."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
