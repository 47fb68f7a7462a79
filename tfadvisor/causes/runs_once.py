"""Which lines of a program run once, by its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tfadvisor.causes.called import only_function
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.walked import covers, walked
from tfadvisor.causes.witness import element_loop, function_around

_DEEPEST = 4
"""Calls from the module to the line."""


def runs_once(
    files: Sequence[ParsedFile], parsed: ParsedFile, line: int, depth: int = 0
) -> bool:
    """Whether a line is in no loop, and in the module or in a function that nothing but
    one call on such a line reads.
    """
    if depth == _DEEPEST or element_loop(parsed.tree, line) is not None:
        return False
    function = function_around(parsed.tree, line)
    if function is None:
        return True
    if function not in parsed.tree.body or function.decorator_list:
        return False
    if only_function([each.tree for each in files], function.name) is None:
        return False
    reads = [(each, node) for each in files for node in _reads(each, function.name)]
    if len(reads) != 1:
        return False
    ((caller, read),) = reads
    return _is_called(caller.tree, read) and runs_once(
        files, caller, read.lineno, depth + 1
    )


def _reads(parsed: ParsedFile, name: str) -> Iterator[ast.expr]:
    """Where a file reads a function of a module, but for methods of its values that are
    named so.
    """
    for node in walked(parsed.tree).named(name):
        if isinstance(node, ast.Name) or parsed.names.stands_for(node).path:
            yield node


def _is_called(tree: ast.Module, read: ast.expr) -> bool:
    """Whether it is what a call calls, in no lambda, which may be called again."""
    lambdas = walked(tree).lambdas
    is_called = walked(tree).call_of(read) is not None
    return is_called and not any(covers(node, read.lineno) for node in lambdas)
