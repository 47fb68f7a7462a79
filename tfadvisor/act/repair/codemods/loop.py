"""What the loop does next to the step: reads, waits, logs, callbacks."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.reading.compiled import assigned_in
from tfadvisor.act.repair.reading.loops import (
    counter_of,
    directly_in,
    every,
    is_rare,
    is_step,
    step_loops,
    stepping_functions,
    steps_in,
)
from tfadvisor.act.repair.reading.program import (
    Change,
    Program,
    called,
    dotted,
    keyword,
    names_in,
    pairs,
    pairs_of,
    removed,
    text_of,
    unused,
    walk,
    with_keyword,
)
from tfadvisor.act.repair.registry import Hit, Place

_READS_THAT_WAIT = frozenset("float int bool print item numpy tolist asarray device_get array".split())
_READS = _READS_THAT_WAIT | {"str", "round", "format"}
_KEEPS = frozenset("append extend write add_scalar info debug log scalar print set_postfix".split())


def read_one_step_late(program: Program, _place: Place) -> list[Hit]:
    """A value that the loop reads after each step is read one step later, when it is ready: all are kept, none is waited for.

    One for each statement that reads a value of the step.
    Only statements that do nothing but read, convert and keep values that the next step does not take over.
    """
    found = []
    for loop in step_loops(program):
        if any(isinstance(one, cst.Return) for one in walk(loop.body)):
            continue
        given = _results(program, loop)
        taken = {name for step in steps_in(program, loop) for arg in step.args for name in names_in(arg)}
        for line in (one for one in directly_in(loop) if isinstance(one, cst.SimpleStatementLine)):
            captured = sorted(names_in(line) & assigned_in(loop))
            if _only_reads(program, line, given) and not set(captured) & taken & given and not is_rare(program, line):
                found.append(_read_late(program, loop, line, captured))
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
    waits = any(called(one) in _READS_THAT_WAIT for one in [*inner, outer])
    return waits and not dotted(outer.func).startswith("jax.debug")


def _read_late(program: Program, loop: Any, line: Any, captured: list[str]) -> Hit:
    name = unused(program, "read_late")
    keep = "".join(f"{one}={one}, " for one in captured).rstrip(", ")
    text = text_of(line)
    late = f"if {name} is not None:\n    {name}()\n\ndef {name}({keep}):\n    {text}\n\n"
    behind = f"if {name} is not None:\n    {name}()\n"
    first_line = f"{name} = None  # what the step before left to be read\n"

    def around(node: Any) -> Any:
        return cst.FlattenSentinel([*program.statements(first_line), node, *program.statements(behind)])

    changes: dict[cst.CSTNode, Change] = {line: lambda _: cst.FlattenSentinel(program.statements(late)), loop: around}
    return program.hit(line, f"read one step late: {text[:60]}", changes)


_EVERY = 50
"""Where the finding prescribes no number."""
_NAME = re.compile(r"(?:^|(?<=\w_))(every|interval|freq|frequency|period)(?=_\w|$)", re.I)


def _steps_between(place: Place) -> str:
    """How often the finding's fix does it: every so many steps."""
    return place.number(r"% (\d+) == 0", _EVERY)


def every_constant(program: Program, place: Place) -> list[Hit]:
    """A frequency of 1 that the program has a name for, `save_freq=1` or `if step % 1 == 0`, becomes the prescribed one.

    One for each such number: an assignment, an argument, a default, a remainder.
    """
    found, every = [], _steps_between(place)
    for value, name in _ones(program):
        found.append(program.hit(value, f"{name} {every} instead of 1", {value: lambda _: cst.Integer(every)}))
    return found


def _ones(program: Program) -> list[tuple[Any, str]]:
    given = [(value, text_of(target)) for target, value in pairs(program)]
    given += [(one.value, str(one.keyword.value)) for one in program.all(cst.Arg) if one.keyword is not None]
    given += [(one.default, str(one.name.value)) for one in program.all(cst.Param) if one.default is not None]
    named = [(value, name) for value, name in given if _NAME.search(name.split(".")[-1])]
    remainders = [
        (one.right, "every") for one in program.all(cst.BinaryOperation) if isinstance(one.operator, cst.Modulo)
    ]
    return [
        (value, name) for value, name in [*named, *remainders] if isinstance(value, cst.Integer) and value.value == "1"
    ]


_METHODS = ("on_train_batch_end", "on_train_batch_begin", "on_batch_end", "on_batch_begin")


def callback_every_n(program: Program, place: Place) -> list[Hit]:
    """A Keras callback that works after each batch does so as often as the finding prescribes.

    One for each method of a callback that a batch runs.
    https://keras.io/guides/writing_your_own_callbacks/
    """
    found = []
    for one in program.all(cst.ClassDef):
        if not any("Callback" in text_of(base.value) for base in one.bases):
            continue
        for method in one.body.body:
            runs = isinstance(method, cst.FunctionDef) and method.name.value in _METHODS
            if runs and "%" not in text_of(method.body):
                found.append(_guarded_method(program, one, method, _steps_between(place)))
    return found


def _guarded_method(program: Program, one: Any, method: Any, every: str) -> Hit:
    batch = method.params.params[1].name.value
    guard = program.statements(f"if {batch} % {every}:\n    return\n")

    def guarded(body: Any) -> Any:
        lines = list(body.body)
        documented = isinstance(lines[0], cst.SimpleStatementLine) and isinstance(lines[0].body[0], cst.Expr)
        at = 1 if documented and isinstance(lines[0].body[0].value, cst.SimpleString) else 0
        return body.with_changes(body=[*lines[:at], *guard, *lines[at:]])

    did = f"{one.name.value}.{method.name.value} every {every} batches"
    return program.hit(method, did, {method.body: guarded}, (str(method.name.value),))


_SCAFFOLD = re.compile(r"profiler|start_trace|stop_trace|block_until_ready|effects_barrier|tqdm|\bnext\(")
_CHEAP = frozenset(("append", "update", "assign", "assign_add", "set_description", "advance"))


def guard_every_n(program: Program, place: Place) -> list[Hit]:
    """What the loop does in each step, logging, measuring or saving, is done every so many steps.

    One for each statement, or run of statements, next to the step.
    """
    found = []
    bodies = [(loop, counter_of(loop)) for loop in step_loops(program)]
    bodies += [(function, "") for function in stepping_functions(program)]
    for body, counter in bodies:
        for group in _groups(program, body, place):
            found.append(_guarded(program, body, counter, group, _steps_between(place)))
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


def _guarded(program: Program, body: Any, counter: str, group: list[Any], steps: str) -> Hit:
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


_WAITS = ("block_until_ready", "effects_barrier")


def drop_wait(program: Program, _place: Place) -> list[Hit]:
    """A wait for the device in every turn of the loop goes: the next step is dispatched while this one runs.

    One for each wait whose value nothing uses.
    https://docs.jax.dev/en/latest/async_dispatch.html
    """
    found = []
    for loop in step_loops(program):
        for line in (one for one in directly_in(loop) if isinstance(one, cst.SimpleStatementLine)):
            alone = len(line.body) == 1 and isinstance(line.body[0], cst.Expr)
            if alone and _is_wait(line.body[0].value) and not is_rare(program, line):
                found.append(program.hit(line, f"no {text_of(line)[:60]} in the loop", {line: removed(program, line)}))
    return found


def _is_wait(node: Any) -> bool:
    return isinstance(node, cst.Call) and called(node) in _WAITS


_STEPS = 16
"""Where the finding prescribes no number."""


def steps_per_execution(program: Program, place: Place) -> list[Hit]:
    """`steps_per_execution`: Keras runs its Python and its callbacks once for several steps.

    One for each `compile` of a model that `fit` trains.
    https://keras.io/api/models/model_training_apis/#compile-method
    """
    found, steps = [], place.number(r"steps_per_execution=(\d+)", _STEPS)
    if not program.calls("fit"):
        return []
    for call in program.calls("compile"):
        if dotted(call.func) == "re.compile" or keyword(call, "steps_per_execution") is not None:
            continue
        if keyword(call, "run_eagerly") is not None and text_of(keyword(call, "run_eagerly").value) == "True":
            continue
        changes = {call: lambda now: with_keyword(now, "steps_per_execution", steps)}
        found.append(program.hit(call, f"steps_per_execution={steps}", changes))
    return found
