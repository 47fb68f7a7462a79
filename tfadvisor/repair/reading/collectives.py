"""Collectives: which of them make what a body adds to a running sum."""

from __future__ import annotations

from typing import Any, NamedTuple

import libcst as cst

from tfadvisor.repair.reading.compiled import assigned_in, functions_named
from tfadvisor.repair.reading.program import Program, called, names_in, walk

_COLLECTIVES = ("pmean", "psum", "all_reduce")


class Reduced(NamedTuple):
    """A collective in the loop's body: which part of the running sum it reduces, None for all of it."""

    call: Any
    value: Any
    """Its argument that is reduced."""
    part: int | None


def collectives(program: Program, body: Any, addend: Any, part: int | None) -> list[Reduced]:
    """The collectives whose values make an addend, or parts of it; not those whose other arguments the body makes."""
    if isinstance(addend, cst.Tuple) and part is None:
        return [
            one for number, each in enumerate(addend.elements) for one in collectives(program, body, each.value, number)
        ]
    if isinstance(addend, cst.Call):
        return _if_free(addend, body, part) if is_collective(addend) else _in_function(program, body, addend, part)
    return _by_name(program, body, addend, part) if isinstance(addend, cst.Name) else []


def _in_function(program: Program, body: Any, addend: Any, part: int | None) -> list[Reduced]:
    """What a function of the program returns that the body alone calls."""
    functions = functions_named(program, addend.func)
    if len(functions) != 1 or functions[0] is body or len(uses_of(program.module, called(addend))) != 1:
        return []
    returns = [one for one in walk(functions[0].body) if isinstance(one, cst.Return) and one.value is not None]
    return collectives(program, functions[0], returns[0].value, part) if len(returns) == 1 else []


def _by_name(program: Program, body: Any, addend: Any, part: int | None) -> list[Reduced]:
    """A name whose last value in the body is the reduced one, and that only this sum reads."""
    name = str(addend.value)
    made = [one for one in walk(body.body) if isinstance(one, cst.Assign) and name in names_in(one.targets[0].target)]
    if not made or not is_collective(made[-1].value) or len(made[-1].targets) != 1:
        return []
    behind = [one for one in uses_of(body.body, name) if program.lines(one)[0] > program.lines(made[-1])[1]]
    return _if_free(made[-1].value, body, part) if behind == [addend] else []


def reduces_more(program: Program, call: Any, parts: int) -> bool:
    """Whether a collective gives values to more names than there are parts of the sum that take them."""
    assign = next(program.around(call))
    target = assign.targets[0].target if isinstance(assign, cst.Assign) else None
    return isinstance(target, cst.Tuple) and len(target.elements) != parts


def uses_of(node: Any, name: str) -> list[Any]:
    """Where a name is read or written below a node, not as an attribute, a keyword or a parameter."""
    return [
        one
        for each in walk(node)
        for one in each.children
        if isinstance(one, cst.Name) and one.value == name and not isinstance(each, cst.FunctionDef | cst.Param)
        if not (isinstance(each, cst.Attribute) and each.attr is one)
        if not (isinstance(each, cst.Arg) and each.keyword is one)
    ]


def is_collective(node: Any) -> bool:
    """Whether it reduces a value over devices."""
    if not isinstance(node, cst.Call) or called(node) not in _COLLECTIVES or len(node.args) < 2:
        return False
    return called(node) != "all_reduce" or len(node.args) == 2


def value_of(call: Any) -> Any:
    """What a collective reduces."""
    return call.args[1 if called(call) == "all_reduce" else 0].value


def _if_free(call: Any, body: Any, part: int | None) -> list[Reduced]:
    """Unless its other arguments are made in the body."""
    value = value_of(call)
    others = {name for arg in call.args if arg.value is not value for name in names_in(arg)}
    own = assigned_in(body.body) | {str(one.name.value) for one in body.params.params}
    return [] if others & own else [Reduced(call, value, part)]
