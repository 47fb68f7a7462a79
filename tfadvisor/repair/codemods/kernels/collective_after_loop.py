"""A sum over devices in every turn of a loop that adds up becomes one sum behind the loop: both are linear.

Only where the reduced value goes into nothing but the running sum, and the sum starts at zero.
https://docs.jax.dev/en/latest/_autosummary/jax.lax.pmean.html
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import positional
from tfadvisor.repair.reading.collectives import Reduced, collectives, is_collective, reduces_more, uses_of, value_of
from tfadvisor.repair.reading.compiled import assigned_in, functions_named
from tfadvisor.repair.reading.program import Change, Program, called, names_in, text_of, walk
from tfadvisor.repair.reading.sums import added_to, is_zero

_CHECKED = ("shard_map", "shmap")
_UNCHECKED = ("check_vma=False", "check_rep=False")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each loop of `scan`, `fori_loop` or Python."""
    found = []
    if any(one in program.source for one in _CHECKED) and not any(one in program.source for one in _UNCHECKED):
        return []
    for loop in program.calls("scan", "fori_loop"):
        hit = _traced(program, loop)
        found += [] if hit is None else [hit]
    for loop in program.all(cst.For):
        hit = _of_python(program, loop)
        found += [] if hit is None else [hit]
    return found


def _traced(program: Program, loop: Any) -> Hit | None:
    """`total, _ = jax.lax.scan(body, zeros, xs)` or `total = jax.lax.fori_loop(0, n, body, zeros)`."""
    scan = called(loop) == "scan"
    given = positional(loop)
    line = program.statement(loop)
    if len(given) < (2 if scan else 4) or not isinstance(line, cst.SimpleStatementLine):
        return None
    functions = _bodies(program, loop, given[0 if scan else 2].value)
    assign = line.body[0]
    if len(functions) != 1 or len(line.body) != 1 or not isinstance(assign, cst.Assign) or assign.value is not loop:
        return None
    target = assign.targets[0].target
    if scan:
        if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
            return None
        target = target.elements[0].value
    body, start = functions[0], given[1 if scan else 3].value
    carry = body.params.params[0 if scan else -1].name if body.params.params else None
    result = _returned(body, scan)
    if carry is None or result is None or len(assign.targets) != 1:
        return None
    reduced = _reduced_in(program, body, result, str(carry.value))
    if reduced is None or not all(_starts_at_zero(program, start, one.part) for one in reduced):
        return None
    return _moved(program, line, body, target, reduced)


def _bodies(program: Program, loop: Any, named: Any) -> list[Any]:
    """The functions that the loop may run and that nothing else runs: one of its own scope before those of others."""
    found = functions_named(program, named)
    own = [one for one in found if program.scope(one) is program.scope(loop)] or found
    return [one for one in own if len(uses_of(program.scope(one), str(one.name.value))) == 1]


def _returned(body: Any, scan: bool) -> Any:
    """The next carry of a body with one return."""
    returns = [one for one in walk(body.body) if isinstance(one, cst.Return)]
    if len(returns) != 1 or returns[0].value is None:
        return None
    value = returns[0].value
    if not scan:
        return value
    return value.elements[0].value if isinstance(value, cst.Tuple) and len(value.elements) == 2 else None


def _reduced_in(program: Program, body: Any, result: Any, carry: str) -> list[Reduced] | None:
    """Collectives whose values are added to the carry and used for nothing else; None without one."""
    if isinstance(result, cst.Tuple):
        parts: list[tuple[int | None, Any, set[str]]] = [
            (number, one.value, _names_of_part(body, carry, number)) for number, one in enumerate(result.elements)
        ]
    else:
        parts = [(None, result, {carry})]
    found = []
    for number, value, names in parts:
        addend = added_to(value, names)
        found += [] if addend is None else collectives(program, body, addend, number)
    calls = [one.call for one in found]
    return [one for one in found if not reduces_more(program, one.call, calls.count(one.call))] or None


def _names_of_part(body: Any, carry: str, number: int) -> set[str]:
    """`loss_sum` of `loss_sum, grad_sum = carry`."""
    for one in walk(body.body):
        if isinstance(one, cst.Assign) and text_of(one.value) == carry:
            target = one.targets[0].target
            if isinstance(target, cst.Tuple) and number < len(target.elements):
                return names_in(target.elements[number].value)
    return {f"{carry}[{number}]"}


def _starts_at_zero(program: Program, start: Any, part: int | None) -> bool:
    if isinstance(start, cst.Name):
        values = [
            one.value
            for one in program.all(cst.Assign)
            if text_of(one.targets[0].target) == start.value and program.scope(one) is program.scope(start)
        ]
        return len(values) == 1 and not isinstance(values[0], cst.Name) and _starts_at_zero(program, values[0], part)
    if isinstance(start, cst.Tuple) and part is not None:
        return part < len(start.elements) and _starts_at_zero(program, start.elements[part].value, None)
    return is_zero(start)


def _moved(program: Program, line: Any, body: Any, target: Any, reduced: list[Reduced]) -> Hit | None:
    behind = ""
    for one in reduced:
        into = target
        if one.part is not None:
            if not isinstance(target, cst.Tuple) or one.part >= len(target.elements):
                return None
            into = target.elements[one.part].value
        whole = f"({text_of(into).strip('()')})" if isinstance(into, cst.Tuple) else text_of(into)
        if not isinstance(into, cst.Name | cst.Tuple):
            return None
        behind += f"{text_of(into)} = {_with_value(one, whole)}\n"
    changes: dict[cst.CSTNode, Change] = {}
    for one in reduced:
        own = program.statement(one.call)
        if text_of(own) == f"{text_of(one.value)} = {text_of(one.call)}":
            changes[own] = lambda _: cst.RemovalSentinel.REMOVE
        else:
            changes[one.call] = _argument_alone
    statements = list(program.statements(behind))
    changes[line] = lambda node: cst.FlattenSentinel([node, *statements])
    names = tuple(dict.fromkeys(called(one.call) for one in reduced))
    first, last = sorted([program.lines(reduced[0].call)[0], program.lines(line)[1]])
    return Hit(first, last, f"{' and '.join(names)} once, behind the loop", program.changed(changes), names)


def _argument_alone(call: Any) -> Any:
    return value_of(call)


def _with_value(one: Reduced, name: str) -> str:
    args = ", ".join(name if arg.value is one.value else text_of(arg).rstrip(", ") for arg in one.call.args)
    return f"{text_of(one.call.func)}({args})"


def _of_python(program: Program, loop: Any) -> Hit | None:
    """`for ...: grads = all_reduce(grads); total = total + grads`, the sum begun as None or zero before the loop."""
    lines = loop.body.body if isinstance(loop.body, cst.IndentedBlock) else ()
    found = []
    for line in lines:
        assign = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if isinstance(assign, cst.Assign) and isinstance(assign.targets[0].target, cst.Name):
            call = _summed(program, loop, assign)
            found += [] if call is None else [(assign.targets[0].target, Reduced(call, value_of(call), None))]
    if len(found) != 1:
        return None
    return _moved(program, loop, loop, found[0][0], [found[0][1]])


def _summed(program: Program, loop: Any, assign: Any) -> Any:
    """The collective of a loop's body whose value a running sum, and nothing else, takes."""
    total = str(assign.targets[0].target.value)
    addend = added_to(assign.value, {total})
    if not isinstance(addend, cst.Name) or not _begun_empty(program, loop, total):
        return None
    name = str(addend.value)
    made = [one for one in walk(loop.body) if isinstance(one, cst.Assign) and text_of(one.targets[0].target) == name]
    if not made or not is_collective(made[-1].value):
        return None
    call, inside = made[-1].value, set(walk(assign))
    others = {one for arg in call.args if arg.value is not value_of(call) for one in names_in(arg)}
    uses = [one for one in uses_of(loop.body, name) if program.lines(one)[0] > program.lines(made[-1])[1]]
    sums = [one for one in uses_of(loop.body, total) if one not in inside]
    return call if all(one in inside for one in uses) and not sums and not others & assigned_in(loop) else None


def _begun_empty(program: Program, loop: Any, name: str) -> bool:
    values = []
    for one in program.all(cst.Assign):
        if program.scope(one) is not program.scope(loop) or loop in program.around(one):
            continue
        target = one.targets[0].target
        if text_of(target) == name:
            values.append(one.value)
        elif isinstance(target, cst.Tuple) and isinstance(one.value, cst.Tuple):
            values += [
                b.value for a, b in zip(target.elements, one.value.elements, strict=False) if text_of(a.value) == name
            ]
    first = program.lines(loop)[0]
    values = [one for one in values if program.lines(one)[0] < first]
    return len(values) == 1 and (text_of(values[0]) == "None" or is_zero(values[0]))
