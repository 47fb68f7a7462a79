"""A YAML file as plain data that remembers the line of every field, so that errors can point at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from tfadvisor.errors import RuleError

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LARGEST = 1 << 20


@dataclass(frozen=True)
class Marked:
    """data: dicts, lists, strings, numbers, booleans and None. lines: dotted path -> line, counting from 1."""

    file: str
    data: Any
    lines: dict[str, int]

    def error(self, path: str, cause: str) -> RuleError:
        """An error at a field; an unknown path points at the nearest field above it."""
        at = path
        while at and at not in self.lines:
            at = at.rpartition(".")[0]
        return RuleError(self.file, self.lines.get(at, 1), path, cause)


def load(text: str, file: str) -> Marked:
    """Reads one YAML document with the safe loader. Raises RuleError for syntax errors, repeated keys and aliases.

    Aliases are refused since a few of them can stand for gigabytes.
    """
    if len(text) > _LARGEST:
        raise RuleError(file, 1, "", "is larger than 1 MiB; a rule file is a few kilobytes")
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        marked = Marked(file, None, {"": 1})
        data = _build(node, "", marked, loader) if node is not None else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        cause = getattr(error, "problem", None) or str(error)
        raise RuleError(file, mark.line + 1 if mark else 1, "", f"is no valid YAML: {cause}") from error
    finally:
        loader.dispose()
    return Marked(file, data, marked.lines)


def _build(node: Any, path: str, marked: Marked, loader: Any) -> Any:
    if path in marked.lines and path:
        raise marked.error(path, "is given twice, or through an alias")
    marked.lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            below = f"{path}.{key}" if path else key
            if key in out:
                raise marked.error(below, "is given twice")
            out[key] = _build(value_node, below, marked, loader)
            marked.lines[below] = key_node.start_mark.line + 1
        return out
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, f"{path}.{index}", marked, loader) for index, item in enumerate(node.value)]
    return loader.construct_object(node)
