"""Loops of the program that run ops of JAX one by one, of which each round needs what
the last one made: what jax.lax.scan does in one compiled function.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.called import calls_in, last_name, owner_of, stored_in
from tfadvisor.causes.loop_data import names_in
from tfadvisor.causes.witness import covers, head_of, own_nodes, scope_around

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_MOST_STATEMENTS = 8
_Plain = ast.Assign | ast.AugAssign


class ScanLoop(NamedTuple):
    """Such a loop."""

    head: str
    """`for t in reversed(range(n))`."""
    first: int
    last: int
    """Its lines."""
    function: str
    """Around it; "" outside of all."""
    carried: tuple[str, ...]
    """What a round has of the last one."""
    shown: str
    """The loop, with its first statement."""
    once: str
    """The same by jax.lax.scan."""


def scan_loop(parsed: ParsedFile, line: int) -> ScanLoop | None:
    """The innermost loop around a line in its function; None where it does more than
    compute, keep and append, and where no round needs another.
    """
    scope = scope_around(parsed.tree, line)
    around = [
        node
        for node in own_nodes(scope)
        if isinstance(node, ast.For) and covers(node, line) and node.lineno < line
    ]
    loop = max(around, key=lambda node: node.lineno, default=None)
    counted = None if loop is None else _counted(loop)
    if loop is None or counted is None or not _only_computes(parsed, loop):
        return None
    carried = _carried(scope, loop)
    appended = [*_appended(loop)]
    if not carried or len(appended) > 1:
        return None
    return ScanLoop(
        head=head_of(loop),
        first=loop.lineno,
        last=loop.end_lineno or loop.lineno,
        function=getattr(scope, "name", ""),
        carried=carried,
        shown=f"{head_of(loop)}:\n    {ast.unparse(loop.body[0])}     # op by op",
        once=_once(loop, counted, carried, appended),
    )


class _Counted(NamedTuple):
    numbers: str
    """`jnp.arange(n)`."""
    is_reversed: bool


def _counted(loop: ast.For) -> _Counted | None:
    node, is_reversed = loop.iter, False
    if isinstance(node, ast.Call) and last_name(node) == "reversed" and node.args:
        node, is_reversed = node.args[0], True
    if not isinstance(node, ast.Call) or last_name(node) != "range":
        return None
    given = ", ".join(map(ast.unparse, node.args))
    is_plain = isinstance(loop.target, ast.Name) and not loop.orelse
    return _Counted(f"jnp.arange({given})", is_reversed) if is_plain else None


def _appends(statement: ast.stmt) -> ast.Call | None:
    """`out.append(value)` of a variable."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    is_it = isinstance(call, ast.Call) and last_name(call) == "append"
    if not isinstance(call, ast.Call) or not is_it or len(call.args) != 1:
        return None
    return call if isinstance(owner_of(call), ast.Name) else None


def _appended(loop: ast.For) -> Iterator[ast.Call]:
    for statement in loop.body:
        call = _appends(statement)
        if call is not None:
            yield call


def _only_computes(parsed: ParsedFile, loop: ast.For) -> bool:
    """Whether it gives names to what operators and JAX compute, or appends that; a sum
    alone is one op.
    """
    is_sum = len(loop.body) == 1 and isinstance(loop.body[0], ast.AugAssign)
    if is_sum or len(loop.body) > _MOST_STATEMENTS:
        return False
    return all(_computes(parsed, statement) for statement in loop.body)


def _computes(parsed: ParsedFile, statement: ast.stmt) -> bool:
    kept = _appends(statement)
    if kept is None and not (isinstance(statement, _Plain) and _of_names(statement)):
        return False
    paths = [
        parsed.names.called(call).path
        for call in calls_in(statement)
        if call is not kept
    ]
    return all(path.startswith(("jax.numpy.", "jax.nn.")) for path in paths)


def _of_names(statement: _Plain) -> bool:
    targets = (
        statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    )
    return all(isinstance(target, ast.Name) for target in targets)


def _carried(scope: ast.AST, loop: ast.For) -> tuple[str, ...]:
    """Variables that a round reads before it writes them, or that are read behind the
    loop.
    """
    written, first = set[str](), dict[str, None]()
    changing = {name for statement in loop.body for name in stored_in(statement)}
    for statement in loop.body:
        value = statement.value if isinstance(statement, ast.Assign) else statement
        early = (names_in(value) & changing) - written
        first |= dict.fromkeys(sorted(early))
        written |= stored_in(statement)
    end = loop.end_lineno or loop.lineno
    later = {
        node.id
        for node in own_nodes(scope)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.lineno > end
    }
    return () if (changing & later) - set(first) else tuple(first)


def _once(
    loop: ast.For,
    counted: _Counted,
    carried: Sequence[str],
    appended: Sequence[ast.Call],
) -> str:
    carry = ", ".join(carried)
    carry = f"({carry},)" if len(carried) == 1 else f"({carry})"
    kept = ast.unparse(appended[0].args[0]) if appended else "None"
    out = ast.unparse(owner_of(appended[0]) or appended[0]) if appended else "_"
    body = [
        f"    {ast.unparse(copy.deepcopy(statement))}"
        for statement in loop.body
        if _appends(statement) is None
    ]
    ends = ", reverse=True" if counted.is_reversed else ""
    order = f"in the order of {ast.unparse(loop.target)}" if counted.is_reversed else ""
    return "\n".join(
        [
            f"def one_round(carry, {ast.unparse(loop.target)}):",
            f"    {carry} = carry",
            *body,
            f"    return {carry}, {kept}",
            "# in place of the loop, in a function that jax.jit compiles",
            f"{carry}, {out} = jax.lax.scan(",
            f"    one_round, {carry}, {counted.numbers}{ends}",
            ")",
            *([f"# {out} is one array, {order}".rstrip(", ")] if appended else []),
        ]
    )
