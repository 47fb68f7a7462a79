"""A YAML file as plain data that remembers the line of every field, so that errors can
point at it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.errors import RuleError
from tfadvisor.files import read_small_text

_LARGEST = 1 << 20
_DEEPEST = 40


class Marked(msgspec.Struct, frozen=True):
    """data: dicts, lists, strings, numbers, booleans and None. lines: dotted path ->
    line, counting from 1.
    """

    file: str
    data: Any
    lines: dict[str, int]

    def error(self, path: str, cause: str) -> RuleError:
        """An error at a field; an unknown path points at the nearest field above it."""
        at = path
        while at and at not in self.lines:
            at = at.rpartition(".")[0]
        return RuleError(
            file=self.file,
            line=self.lines.get(at, 1),
            field=path,
            cause=cause,
        )


def read_rule_file(file: Path) -> str:
    """The text of a YAML file. Raises RuleError for what cannot be read as one; never
    waits for a pipe.
    """
    try:
        return read_small_text(file, _LARGEST)
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise RuleError(
            file=str(file),
            line=1,
            field="",
            cause=f"cannot be read: {why}",
        ) from error


def load(
    text: str,
    file: str,
    *,
    ours: bool = False,
) -> Marked:
    """Reads one YAML document with the safe loader. Raises RuleError for syntax errors,
    repeated keys, aliases and tags.

    Aliases are refused since a few of them can stand for gigabytes, deep nesting since
    it exhausts the stack. ours: the file is a part of this package, so that nobody
    needs to look for such things first.
    """
    # installed packages carry their rules compiled; only other people's are YAML at run
    # time
    import yaml

    if len(text) > _LARGEST:
        raise RuleError(
            file=file,
            line=1,
            field="",
            cause="is larger than 1 MiB; a rule file is a few kilobytes",
        )
    try:
        if not ours:
            _refuse_what_no_rule_needs(text, file)
        loader = _safe_loader()(text)
        try:
            node = loader.get_single_node()
            marked = Marked(file, None, {"": 1})
            data = _build(node, "", marked, loader) if node is not None else None
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        cause = getattr(error, "problem", None) or str(error)
        raise RuleError(
            file=file,
            line=mark.line + 1 if mark else 1,
            field="",
            cause=f"is not valid YAML: {cause}",
        ) from error
    return Marked(file, data, marked.lines)


def _safe_loader() -> Any:
    """The safe loader, the one in C where PyYAML was built with it."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _refuse_what_no_rule_needs(text: str, file: str) -> None:
    """Walks the events without building anything."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=_safe_loader()):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise RuleError(
                file=file,
                line=line,
                field="",
                cause="uses an anchor or alias, which rules do not need",
            )
        if tag := getattr(event, "tag", None):
            raise RuleError(
                file=file,
                line=line,
                field="",
                cause=f"uses the tag {tag}, which rules do not need",
            )
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise RuleError(
                file=file,
                line=line,
                field="",
                cause="is nested too deeply",
            )


def _build(
    node: Any,
    path: str,
    marked: Marked,
    loader: Any,
) -> Any:
    import yaml

    marked.lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            below = f"{path}.{key}" if path else key
            if key in out:
                marked.lines[below] = key_node.start_mark.line + 1
                raise marked.error(below, "is given twice")
            out[key] = _build(value_node, below, marked, loader)
            marked.lines[below] = key_node.start_mark.line + 1
        return out
    if isinstance(node, yaml.SequenceNode):
        return [
            _build(item, f"{path}.{index}", marked, loader)
            for index, item in enumerate(node.value)
        ]
    try:
        return loader.construct_object(node)
    except (
        ValueError
    ) as error:  # a date that no calendar has, a number of thousands of digits
        raise marked.error(
            path, f"has a value that cannot be read: {str(error)[:80]}"
        ) from error
