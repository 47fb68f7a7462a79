"""Dense layers that take all places of a picture, flattened, by the program's files."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

from tfadvisor.causes.called import functions_in, last_name
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.witness import own_nodes
from tfadvisor.printable import cut

_LONGEST = 60
_CONV, _FLAT, _DENSE, _POOL = "conv", "flat", "dense", "pool"
_KINDS = (
    (re.compile(r"\A(?:Depthwise|Separable)?Conv(?:\dD|\dd|Transpose)?\Z"), _CONV),
    (re.compile(r"\AFlatten\Z"), _FLAT),
    (re.compile(r"\A(?:Dense|Linear)\Z"), _DENSE),
    (re.compile(r"\AGlobal\w*Pool\w*\Z|\A(?:reduce_)?mean\Z"), _POOL),
)
_ROWS = 2
"""Axes of what is flattened for each example."""


class Flattened(NamedTuple):
    """A dense layer behind a flattened picture."""

    call: str
    """That makes it, as the program writes it: `layers.Dense(256)`."""
    file: str
    line: int
    function: str
    """Around it; "" outside of all."""


def layer_behind_flatten(files: Sequence[ParsedFile]) -> Flattened | None:
    """The only one of the files whose picture comes of convolutions; None for none or
    several.
    """
    found = [
        Flattened(cut(ast.unparse(call), _LONGEST), parsed.file, call.lineno, name)
        for parsed in files
        for name, scope in _scopes(parsed.tree)
        if (call := _behind(parsed, scope)) is not None
    ]
    return found[0] if len(found) == 1 else None


def _scopes(tree: ast.Module) -> list[tuple[str, ast.AST]]:
    return [("", tree), *((each.name, each) for each in functions_in(tree))]


def _behind(parsed: ParsedFile, scope: ast.AST) -> ast.Call | None:
    """The next layer behind a flattening that no pooling of all places comes before,
    of what convolutions gave.
    """
    state = ""
    for call in _in_order(scope):
        kind = _kind(parsed, call)
        if kind == _DENSE and state == _FLAT:
            return call
        is_next = kind == _FLAT and state == _CONV
        state = _FLAT if is_next else _state(state, kind)
    return None


def _state(state: str, kind: str) -> str:
    """What the layers so far end in, of those that matter here."""
    if kind == _CONV:
        return _CONV
    return "" if kind in (_POOL, _DENSE) else state


def _in_order(scope: ast.AST) -> list[ast.Call]:
    """As they end; what makes a layer that is called at once, with that call."""
    calls = [node for node in own_nodes(scope) if isinstance(node, ast.Call)]
    ends = {
        id(call): (call.end_lineno or 0, call.end_col_offset or 0) for call in calls
    }
    ends |= {id(call.func): ends[id(call)] for call in calls}
    return sorted(calls, key=lambda call: ends[id(call)])


def _kind(parsed: ParsedFile, call: ast.Call) -> str:
    name = last_name(call)
    if name == "reshape":
        return _FLAT if _flattens(call) else ""
    if name != "mean" and not parsed.names.called(call).path:
        return ""
    return next((kind for known, kind in _KINDS if known.search(name)), "")


def _flattens(call: ast.Call) -> bool:
    """`x.reshape((x.shape[0], -1))`, `jnp.reshape(x, (n, -1))`."""
    shape = call.args[-1] if call.args else None
    sizes = shape.elts if isinstance(shape, ast.Tuple | ast.List) else call.args
    return len(sizes) == _ROWS and ast.unparse(sizes[-1]) == "-1"
