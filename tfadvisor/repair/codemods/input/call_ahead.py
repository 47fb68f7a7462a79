"""A call in the loop that makes the batch of this turn is made for the next turns by a thread while steps run.

Only where nothing in it depends on what the loop computes, except its counter.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.codemods.input.read_ahead import HELPER, OPENED, open_to_threads
from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.compiled import assigned_in, functions_named, is_compiled
from tfadvisor.repair.reading.loops import callee, directly_in, is_step, step_loops, steps_in
from tfadvisor.repair.reading.names import unused
from tfadvisor.repair.reading.program import (
    Change,
    Program,
    before,
    called,
    expression,
    instead,
    names_in,
    pairs_of,
    text_of,
    walk,
)

_NO_BATCHES = frozenset(
    "range len print float int str min max next iter enumerate zip slice Trace StepTraceAnnotation start stop start_trace "
    "stop_trace time perf_counter block_until_ready constant asarray array device_put append write".split()
)


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each function that loops call for their batches, in all loops that call it so."""
    grouped: dict[str, list[tuple[Any, Any, str]]] = {}
    for loop in step_loops(program):
        for call, ahead in _candidates(program, loop):
            grouped.setdefault(text_of(call.func), []).append((loop, call, ahead))
    found, opened = [], open_to_threads(program)
    for function, places in grouped.items():
        changes: dict[cst.CSTNode, Change] = {**opened}
        name = unused(program, "ready")
        for loop, call, ahead in places:
            if loop in changes:
                break
            over = f"for {text_of(loop.target)} in {text_of(loop.iter)}"
            changes[call] = instead(f"next({name})")
            changes[loop] = before(program, f"{name} = read_ahead({ahead} {over})\n")
        else:
            first, last = program.lines(places[0][1])
            did = f"{function} called ahead by a thread{OPENED if opened else ''}"
            source = program.changed(changes, helper=HELPER)
            found.append(Hit(first, last, did, source, (callee(places[0][1]), *_inside(program, places[0][1]))))
    return found


def _candidates(program: Program, loop: Any) -> list[tuple[Any, str]]:
    """Calls of a loop that make what its step takes, and how each is written with nothing but the loop's counter."""
    if not isinstance(loop, cst.For) or not text_of(loop.iter).startswith("range("):
        return []
    wanted = _names_of_steps(program, loop)
    found: list[tuple[Any, str]] = []
    for call in (one for one in directly_in(loop) if isinstance(one, cst.Call)):
        if called(call) in _NO_BATCHES or is_step(program, call) or is_compiled(program, call.func):
            continue
        if not (_feeds(program, call, loop, wanted) and _makes_something(program, call)):
            continue
        ahead = _by_counter(program, call, loop)
        if ahead is not None and not any(one in program.around(call) for one, _ in found):
            found.append((call, ahead))
    return found


def _names_of_steps(program: Program, loop: Any) -> set[str]:
    return {name for step in steps_in(program, loop) for arg in step.args for name in names_in(arg)}


def _feeds(program: Program, call: Any, loop: Any, wanted: set[str]) -> bool:
    """Whether its value goes into a step: as an argument, or by a name."""
    steps = steps_in(program, loop)
    around = list(program.around(call))
    if any(one in around for one in steps):
        return any(
            isinstance(one, cst.Arg) and one.value is call and program.inside(one, cst.Call) in steps for one in around
        )
    statement = program.statement(call)
    assigned = [one for one in walk(statement) if isinstance(one, cst.Assign) and one.value is call]
    return any(names_in(target) & wanted for one in assigned for target, _ in pairs_of(one))


def _makes_something(program: Program, call: Any) -> bool:
    """A function or method of the program, or a future's result; what libraries give at once is not worth a thread."""
    return bool(functions_named(program, call.func)) or called(call) == "result"


def _by_counter(program: Program, call: Any, loop: Any) -> str | None:
    """The call's text, with names that the loop computes of its counter written out; None where it needs anything else."""
    counters = names_in(loop.target)
    inner = {
        text_of(target): value
        for one in directly_in(loop)
        if isinstance(one, cst.Assign)
        for target, value in pairs_of(one)
    }
    changing = assigned_in(loop.body)
    replaced: dict[str, str] = {}
    for name in names_in(call) & changing:
        value = inner.get(name)
        if value is None or names_in(value) & changing or not names_in(value) & counters or _calls_out(value):
            return None
        replaced[name] = f"({text_of(value)})"
    text: Any = call.visit(_Written(replaced)) if replaced else call
    return text_of(text)


def _calls_out(value: Any) -> bool:
    return any(isinstance(one, cst.Call) and called(one) not in ("min", "max", "int", "abs") for one in walk(value))


def _inside(program: Program, call: Any) -> tuple[str, ...]:
    return tuple(one.name.value for one in functions_named(program, call.func))


class _Written(cst.CSTTransformer):
    """Names replaced by expressions."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self._texts = texts

    def leave_Name(self, original_node: Any, updated_node: Any) -> Any:  # noqa: N802  (LibCST's name)
        """The expression, in brackets."""
        text = self._texts.get(original_node.value)
        return updated_node if text is None else expression(text)
