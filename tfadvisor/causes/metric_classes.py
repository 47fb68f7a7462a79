"""Classes of the program that measure how good a model is, batch by batch."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.walked import Function, calls_in, covers, nodes_in
from tfadvisor.causes.witness import function_around
from tfadvisor.printable import cut

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

UPDATES = "update_state"
_METHODS = frozenset({UPDATES, "result"})
"""What Keras calls of a metric in each step of fit."""
_OF_KERAS = re.compile(r"\A(?:tensorflow\.keras|keras|tf_keras)\.metrics\.\w+")
_MANY = 20
"""Thresholds, of a list that is written out."""
_LONGEST = 60


def metric_class(parsed: ParsedFile, line: int) -> str:
    """The class of a metric in whose update_state or result a line lies; "" for
    none. One of a metric has both methods, or a base that does.
    """
    for node in nodes_in(parsed.tree):
        if not isinstance(node, ast.ClassDef) or not covers(node, line):
            continue
        for inner in node.body:
            is_it = isinstance(inner, Function) and inner.name in _METHODS
            if is_it and covers(inner, line) and _is_metric(parsed, node):
                return node.name
    return ""


def _is_metric(parsed: ParsedFile, node: ast.ClassDef) -> bool:
    has = {inner.name for inner in node.body if isinstance(inner, Function)}
    bases = (parsed.names.stands_for(base) for base in node.bases)
    return has >= _METHODS or any(_OF_KERAS.match(base.path) for base in bases)


class Thresholds(NamedTuple):
    """A metric of Keras that is given its thresholds."""

    metric: str
    """As the program writes it: `keras.metrics.AUC`."""
    given: str
    """The thresholds, as it writes them: `cutoffs`."""
    file: str
    line: int
    function: str
    """Around it; "" outside of all."""


def metric_with_thresholds(files: Sequence[ParsedFile]) -> Thresholds | None:
    """The first that the files make whose thresholds are no number, and no short list;
    None for none.
    """
    for parsed in files:
        for call in calls_in(parsed.tree):
            given = _thresholds_of(parsed, call)
            if given is None:
                continue
            around = function_around(parsed.tree, call.lineno)
            return Thresholds(
                ast.unparse(call.func),
                cut(ast.unparse(given), _LONGEST),
                parsed.file,
                call.lineno,
                "" if around is None else around.name,
            )
    return None


def _thresholds_of(parsed: ParsedFile, call: ast.Call) -> ast.expr | None:
    if not _OF_KERAS.match(parsed.names.called(call).path):
        return None
    given = {each.arg: each.value for each in call.keywords}.get("thresholds")
    if isinstance(given, ast.List | ast.Tuple) and len(given.elts) < _MANY:
        return None
    return None if isinstance(given, ast.Constant) else given
