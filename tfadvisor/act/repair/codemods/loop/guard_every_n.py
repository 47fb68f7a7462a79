"""What the loop does in each step, logging, measuring or saving, is done every so many steps."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.codemods.loop.every_constant import steps_between
from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.guards import every
from tfadvisor.act.repair.reading.loops import (
    counter_of,
    directly_in,
    is_step,
    step_loops,
    stepping_functions,
    steps_in,
)
from tfadvisor.act.repair.reading.program import Change, Program, called, text_of, unused, walk

_SCAFFOLD = re.compile(r"profiler|start_trace|stop_trace|block_until_ready|effects_barrier|tqdm|\bnext\(")
_CHEAP = frozenset(("append", "update", "assign", "assign_add", "set_description", "advance"))


def hits(program: Program, place: Place) -> list[Hit]:
    """One for each statement, or run of statements, beside the step."""
    found = []
    bodies = [(loop, counter_of(loop)) for loop in step_loops(program)]
    bodies += [(function, "") for function in stepping_functions(program)]
    for body, counter in bodies:
        for group in _groups(program, body, place):
            found.append(_hit(program, body, counter, group, steps_between(place)))
    return found


def _groups(program: Program, body: Any, place: Place) -> list[list[Any]]:
    """Statements behind the step that neither give a value nor belong to it; neighbours together."""
    steps = steps_in(program, body)
    if not steps:
        return []
    behind = program.lines(steps[0])[1]
    groups: list[list[Any]] = []
    for line in (one for one in directly_in(body) if isinstance(one, cst.SimpleStatementLine)):
        if program.lines(line)[0] <= behind or not _is_beside(program, line, place):
            continue
        if groups and program.lines(groups[-1][-1])[1] + 1 == program.lines(line)[0]:
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _is_beside(program: Program, line: Any, place: Place) -> bool:
    if len(line.body) != 1 or not isinstance(line.body[0], cst.Expr) or not isinstance(line.body[0].value, cst.Call):
        return False
    call = line.body[0].value
    if every(program, line) != 1:
        return False
    if _SCAFFOLD.search(text_of(line)) or is_step(program, call):
        return False
    inner = [one for one in walk(call) if isinstance(one, cst.Call) and one is not call]
    if any(is_step(program, one) for one in inner):
        return False
    return called(call) not in _CHEAP or bool(inner) or any(name in text_of(line) for name in place.names)


def _hit(program: Program, body: Any, counter: str, group: list[Any], steps: str) -> Hit:
    changes: dict[cst.CSTNode, Change] = {}
    imports = ""
    test = f"{counter} % {steps} == 0"
    if not counter:
        name = unused(program, "calls")
        test = f"next({name}) % {steps} == 0"
        imports = "import itertools"
        made = program.statements(f"{name} = itertools.count()\n")
        changes[body] = lambda node: cst.FlattenSentinel([*made, node])
    guard = cst.parse_expression(test)
    inside = cst.IndentedBlock([one.with_changes(leading_lines=[]) for one in group])
    changes[group[0]] = lambda node: cst.If(guard, inside, leading_lines=node.leading_lines)
    for one in group[1:]:
        changes[one] = lambda _: cst.RemovalSentinel.REMOVE
    first, last = program.lines(group[0])[0], program.lines(group[-1])[1]
    names = {called(call) for one in group for call in walk(one) if isinstance(call, cst.Call)}
    names |= {"__call__"} if any(_is_object(program, one) for one in group) else set()
    did = f"every {steps} steps: {text_of(group[0])[:60]}"
    return Hit(first, last, did, program.changed(changes, imports=imports), tuple(sorted(names)))


def _is_object(program: Program, line: Any) -> bool:
    """A call of a name that is no function of the program."""
    func = line.body[0].value.func
    return isinstance(func, cst.Name) and func.value not in program.functions
