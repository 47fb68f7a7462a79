"""The files of a program with how often what they define runs, or is made."""

from __future__ import annotations

import ast
from functools import cached_property

from tfadvisor.causes.called import Function, called_names, last_name
from tfadvisor.causes.loop_data import Loop
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.unchanged import Program, Site, site_of
from tfadvisor.causes.witness import own_nodes

_DEEPEST = 4
"""Calls from the module to a function."""


class WholeProgram(Program):
    """The files of a program."""

    def file(self, name: str) -> ParsedFile | None:
        """Of this name without its folder; None for none."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, ParsedFile]:
        return {parsed.file: parsed for parsed in reversed(self.files)}

    def outermost_loop(self, site: Site) -> Loop | None:
        """Of the function that a call is in, around it."""
        inside = site.parsed.tree if site.function is None else site.function
        if site.loop is None:
            return None
        for node in own_nodes(inside):
            if isinstance(node, Loop) and _holds(node, site.loop):
                return node
        return site.loop

    def runs_once(self, function: Function | None, depth: int = 0) -> bool:
        """Whether the program calls it on one line alone, in no loop, from what runs
        once; the module does.
        """
        if function is None:
            return True
        sites = self.sites(function.name)
        if depth == _DEEPEST or len(sites) != 1 or self._reads(function.name) != 1:
            return False
        (site,) = sites
        is_plain = site.loop is None and not site.bound and not function.decorator_list
        return (
            is_plain
            and self.definition(function.name) is function
            and self.runs_once(site.function, depth + 1)
        )

    def _reads(self, name: str) -> int:
        """How often its name stands anywhere."""
        return sum(
            isinstance(node, ast.Name | ast.Attribute)
            and name in (getattr(node, "id", ""), getattr(node, "attr", ""))
            for parsed in self.files
            for node in ast.walk(parsed.tree)
        )

    def is_of_one_object(self, method: Function) -> bool:
        """Whether the class that defines it makes one object in the whole program."""
        names = [node.name for node in self._classes if method in node.body]
        bases = {ast.unparse(base) for node in self._classes for base in node.bases}
        if len(names) != 1 or names[0] in bases or self._reads(names[0]) != 1:
            return False
        made = next(iter(self._calls_of(names[0])), None)
        if made is None or made.loop is not None or made.bound:
            return False
        return self.runs_once(made.function)

    def _calls_of(self, name: str) -> list[Site]:
        return [
            site_of(parsed, node)
            for parsed in self.files
            for node in ast.walk(parsed.tree)
            if isinstance(node, ast.Call) and last_name(node) == name
        ]

    def class_of(self, method: Function) -> list[ast.AST]:
        """All that the class which defines it holds; nothing of a function."""
        return [n for node in self._classes if method in node.body for n in node.body]

    @cached_property
    def _classes(self) -> list[ast.ClassDef]:
        return [
            node
            for parsed in self.files
            for node in ast.walk(parsed.tree)
            if isinstance(node, ast.ClassDef)
        ]

    @cached_property
    def called(self) -> frozenset[str]:
        """The last names of all that it calls, or asks of what it calls."""
        return frozenset[str]().union(
            *(called_names(parsed.tree) for parsed in self.files)
        )

    @cached_property
    def words(self) -> frozenset[str]:
        """The names of modules and attributes that it imports or asks for."""
        found = set[str]()
        for parsed in self.files:
            for node in ast.walk(parsed.tree):
                if isinstance(node, ast.Attribute):
                    found.add(node.attr)
                elif isinstance(node, ast.alias):
                    found.update(node.name.split("."))
                elif isinstance(node, ast.ImportFrom):
                    found.update((node.module or "").split("."))
        return frozenset(found)


def _holds(outer: ast.AST, inner: ast.AST) -> bool:
    return any(node is inner for node in ast.walk(outer))
