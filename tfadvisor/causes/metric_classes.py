"""Classes of the program that measure how good a model is, batch by batch."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tfadvisor.causes.called import Function
from tfadvisor.causes.witness import covers

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

UPDATES = "update_state"
_METHODS = frozenset({UPDATES, "result"})
"""What Keras calls of a metric in each step of fit."""
_OF_KERAS = re.compile(r"\A(?:tensorflow\.keras|keras|tf_keras)\.metrics\.\w+")


def metric_class(parsed: ParsedFile, line: int) -> str:
    """The class of a metric in whose update_state or result a line lies; "" for
    none. One of a metric has both methods, or a base that does.
    """
    for node in ast.walk(parsed.tree):
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
