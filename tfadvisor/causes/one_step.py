"""Ops that a loop of the program runs one by one behind a compiled function, on what
that gives, as an optimizer's update behind a gradient: all of it can be one function.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tfadvisor.causes.called import (
    ON_DEVICES,
    calls_in,
    last_name,
    owner_of,
    stored_in,
)
from tfadvisor.causes.compiled_names import HostCalls
from tfadvisor.causes.loop_data import Loop, names_in
from tfadvisor.causes.witness import covers, own_nodes, scope_around

if TYPE_CHECKING:
    from tfadvisor.causes.source_files import ParsedFile

_NAME = "one_step"


class OneStep(NamedTuple):
    """Such statements of a loop."""

    compiled: str
    """`loss_and_grads`."""
    first: int
    last: int
    """Lines of what runs op by op."""
    before: str
    once: str


def one_step(parsed: ParsedFile, line: int, host: HostCalls) -> OneStep | None:
    """Of a line in a loop, behind the call of a compiled function in the same body;
    None where other work lies between them.
    """
    scope = scope_around(parsed.tree, line)
    around = [
        node
        for node in own_nodes(scope)
        if isinstance(node, Loop) and covers(node, line) and node.lineno < line
    ]
    loop = max(around, key=lambda node: node.lineno, default=None)
    if loop is None:
        return None
    at = next((n for n, each in enumerate(loop.body) if covers(each, line)), -1)
    begin = _gradient(loop.body[: max(at, 0)], host)
    if begin is None:
        return None
    end = begin + 1
    while end < len(loop.body) and _is_of_ops(parsed, loop, loop.body[end], host):
        end += 1
    inside = loop.body[begin:end]
    return _as_one(parsed, scope, loop, inside) if begin < at < end else None


def _gradient(before: Sequence[ast.stmt], host: HostCalls) -> int | None:
    """The last statement that only calls what is compiled."""
    found = None
    for number, statement in enumerate(before):
        call = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(call, ast.Call) and host.is_compiled(last_name(call)):
            found = number
    return found


def _is_of_ops(
    parsed: ParsedFile, loop: Loop, statement: ast.stmt, host: HostCalls
) -> bool:
    """Whether it gives plain names what frameworks make, or a method of an object that
    the loop does not change.
    """
    if not isinstance(statement, ast.Assign) or not isinstance(
        statement.value, ast.Call
    ):
        return False
    for call in calls_in(statement):
        called, owner = parsed.names.called(call), owner_of(call)
        is_method = isinstance(owner, ast.Name) and owner.id not in stored_in(loop)
        is_known = called.package in ON_DEVICES or (
            is_method and last_name(call) in ("update", "apply")
        )
        if not is_known or host.is_compiled(last_name(call)):
            return False
    targets = [node for each in statement.targets for node in ast.walk(each)]
    return not any(isinstance(each, ast.Attribute | ast.Subscript) for each in targets)


def _as_one(
    parsed: ParsedFile, scope: ast.AST, loop: Loop, inside: Sequence[ast.stmt]
) -> OneStep | None:
    call = inside[0].value if isinstance(inside[0], ast.Assign) else None
    by = _compiler(parsed, call)
    if not isinstance(call, ast.Call) or by is None:
        return None
    given = _parameters(parsed, call)
    counted = names_in(loop.target) if isinstance(loop, ast.For) else set[str]()
    needed = _needed(loop, inside[1:], stored_in(inside[0]))
    if given is None or needed & counted:
        return None
    extra = sorted(needed - set(given))
    names, values = [*given, *extra], [*given.values(), *extra]
    results = _results(scope, loop, inside, names)
    given_to = ast.unparse(inside[0]).removesuffix(ast.unparse(call))
    body = [f"{given_to}{ast.unparse(call.func)}({', '.join(given)})"]
    body += [ast.unparse(each) for each in inside[1:]]
    returned = ", ".join(results)
    code = [
        f"@{by}",
        f"def {_NAME}({', '.join(names)}):",
        *(f"    {each}" for each in body),
        f"    return {returned}",
        "# in the loop",
        f"{returned} = {_NAME}({', '.join(values)})",
    ]
    before = "\n".join(ast.unparse(each) for each in inside)
    last = inside[-1].end_lineno or inside[-1].lineno
    name = last_name(call)
    return OneStep(name, inside[1].lineno, last, before, "\n".join(code))


def _compiler(parsed: ParsedFile, call: ast.expr | None) -> str | None:
    """As the compiled function has it: `jax.jit`, `eqx.filter_jit`; None for others,
    whose objects need a compiler of their own.
    """
    function = (
        parsed.names.functions.get(last_name(call))
        if isinstance(call, ast.Call)
        else None
    )
    words = [ast.unparse(each) for each in function.decorator_list] if function else []
    known = [each for each in words if each in ("jax.jit", "jit", "eqx.filter_jit")]
    return known[0] if known else None


def _parameters(parsed: ParsedFile, call: ast.Call) -> dict[str, str] | None:
    """By name what the compiled function is given: by its own names where that is no
    variable. None where any is unpacked.
    """
    function = parsed.names.functions[last_name(call)]
    names = [argument.arg for argument in function.args.args]
    is_plain = not call.keywords and len(names) >= len(call.args)
    if not is_plain or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    found: dict[str, str] = {}
    for name, value in zip(names, call.args, strict=False):
        own = value.id if isinstance(value, ast.Name) else name
        if own in found:
            return None
        found[own] = ast.unparse(value)
    return found


def _needed(loop: Loop, inside: Sequence[ast.stmt], written: set[str]) -> set[str]:
    """Variables of the loop that statements read before any of them writes these."""
    found, known = set[str](), set(written)
    for statement in inside:
        value = statement.value if isinstance(statement, ast.Assign) else statement
        found |= (names_in(value) & stored_in(loop)) - known
        known |= stored_in(statement)
    return found


def _results(
    scope: ast.AST, loop: Loop, inside: Sequence[ast.stmt], given: Sequence[str]
) -> list[str]:
    """What is read again: in the next round, or elsewhere."""
    written = {name for each in inside for name in stored_in(each)}
    lines = range(inside[0].lineno, (inside[-1].end_lineno or 0) + 1)
    read = {
        node.id
        for node in own_nodes(scope)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.lineno not in lines
    }
    carried = [name for name in given if name in written]
    return [*carried, *sorted((written & read) - set(carried))]
