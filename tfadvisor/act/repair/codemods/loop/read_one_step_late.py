"""A value that the loop reads after each step is read one step later, when it is ready: every value is kept, none is waited for.

Only statements that do nothing but read, convert and keep values of the step, and values that the next step does not take over.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.compiled import assigned_in
from tfadvisor.act.repair.reading.guards import is_rare
from tfadvisor.act.repair.reading.loops import directly_in, is_step, step_loops, steps_in
from tfadvisor.act.repair.reading.program import (
    Change,
    Program,
    called,
    dotted,
    names_in,
    pairs_of,
    text_of,
    unused,
    walk,
)

_READS = frozenset(
    (
        "float",
        "int",
        "bool",
        "str",
        "print",
        "round",
        "item",
        "numpy",
        "tolist",
        "asarray",
        "array",
        "device_get",
        "format",
    )
)
_KEEPS = frozenset(
    ("append", "extend", "write", "add_scalar", "info", "debug", "log", "scalar", "print", "set_postfix")
)
_WAITS = frozenset(("float", "int", "bool", "print", "item", "numpy", "tolist", "asarray", "device_get", "array"))


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each statement that reads a value of the step."""
    found = []
    for loop in step_loops(program):
        if any(isinstance(one, cst.Return) for one in walk(loop.body)):
            continue
        given = _results(program, loop)
        taken = {name for step in steps_in(program, loop) for arg in step.args for name in names_in(arg)}
        for line in (one for one in directly_in(loop) if isinstance(one, cst.SimpleStatementLine)):
            captured = sorted(names_in(line) & assigned_in(loop))
            if _only_reads(program, line, given) and not set(captured) & taken & given and not is_rare(program, line):
                found.append(_hit(program, loop, line, captured))
    return found


def _results(program: Program, loop: Any) -> set[str]:
    """Names that get what a step returns."""
    steps = set(steps_in(program, loop))
    found: set[str] = set()
    for one in directly_in(loop):
        if isinstance(one, cst.Assign) and one.value in steps:
            found |= {name for target, _ in pairs_of(one) for name in names_in(target)}
    return found


def _only_reads(program: Program, line: Any, given: set[str]) -> bool:
    if len(line.body) != 1 or not isinstance(line.body[0], cst.Expr) or not names_in(line) & given:
        return False
    outer = line.body[0].value
    if not isinstance(outer, cst.Call) or called(outer) not in _KEEPS or is_step(program, outer):
        return False
    inner = [one for one in walk(line) if isinstance(one, cst.Call) and one is not outer]
    if not all(called(one) in _READS for one in inner):
        return False
    return any(called(one) in _WAITS for one in [*inner, outer]) and not dotted(outer.func).startswith("jax.debug")


def _hit(program: Program, loop: Any, line: Any, captured: list[str]) -> Hit:
    name = unused(program, "read_late")
    keep = "".join(f"{one}={one}, " for one in captured).rstrip(", ")
    text = text_of(line)
    late = f"if {name} is not None:\n    {name}()\n\ndef {name}({keep}):\n    {text}\n\n"
    behind = f"if {name} is not None:\n    {name}()\n"
    first_line = f"{name} = None  # what the step before left to be read\n"

    def around(node: Any) -> Any:
        return cst.FlattenSentinel([*program.statements(first_line), node, *program.statements(behind)])

    changes: dict[cst.CSTNode, Change] = {line: lambda _: cst.FlattenSentinel(program.statements(late)), loop: around}
    first, last = program.lines(line)
    return Hit(first, last, f"read one step late: {text[:60]}", program.changed(changes))
