"""What the loop does next to the step: waits, what it does each time, how many steps
Keras runs in a call.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from tfadvisor.act.repair.hits import FaultPlace, Hit
from tfadvisor.act.repair.reading.loops import directly_in, is_rare, step_loops
from tfadvisor.act.repair.reading.program import (
    Program,
    called,
    dotted,
    keyword,
    pairs,
    text_of,
)

_EVERY = 50
"""Where the finding prescribes no number."""
_NAME = re.compile(
    r"(?:^|(?<=\w_))(every|interval|freq|frequency|period)(?=_\w|$)", re.I
)


def every_constant(
    program: Program,
    place: FaultPlace,
) -> list[Hit]:
    """A frequency of 1 that the program has a name for, `save_freq=1` or `if step % 1
    == 0`, becomes the prescribed one.

    One for each such number: an assignment, an argument, a default, a remainder.
    """
    every = place.number(r"% (\d+) == 0", _EVERY)
    found = []
    for value, name in _ones(program):
        edit = program.instead(value, every)
        found.append(program.hit(value, f"{name} {every} instead of 1", edit))
    return found


def _ones(program: Program) -> list[tuple[Any, str]]:
    """Each 1 that has the name of a frequency, with that name."""
    named = []
    for value, name in _named_values(program):
        last = name.split(".")[-1]
        if value is not None and _NAME.search(last):
            named.append((value, name))
    for operation in program.all(ast.BinOp):
        if isinstance(operation.op, ast.Mod):
            named.append((operation.right, "every"))

    found = []
    for value, name in named:
        if program.written(value) == "1":
            found.append((value, name))
    return found


def _named_values(program: Program) -> Iterator[tuple[Any, str]]:
    """Of assignments, arguments and defaults; None for an argument without one."""
    for target, value in pairs(program):
        yield value, text_of(target)
    for argument in program.all(ast.keyword):
        if argument.arg is not None:
            yield argument.value, argument.arg
    for function in program.all(ast.FunctionDef, ast.AsyncFunctionDef):
        yield from _defaults(function.args)


def _defaults(given: ast.arguments) -> Iterator[tuple[Any, str]]:
    plain = [*given.posonlyargs, *given.args]
    last_first = zip(
        reversed(plain),
        reversed(given.defaults),
        strict=False,
    )
    for argument, default in last_first:
        yield default, argument.arg
    for argument, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield value, argument.arg


_WAITS = ("block_until_ready", "effects_barrier")


def drop_wait(
    program: Program,
    _place: FaultPlace,
) -> list[Hit]:
    """A wait for the device in every turn of the loop goes: the next step is dispatched
    while this one runs.

    One for each wait whose value nothing uses.
    https://docs.jax.dev/en/latest/async_dispatch.html
    """
    found = []
    for loop in step_loops(program):
        for line in directly_in(loop):
            if _waits(program, line) and not is_rare(program, line):
                did = f"no {text_of(line)[:60]} in the loop"
                found.append(program.hit(line, did, program.removed(line)))
    return found


def _waits(program: Program, line: Any) -> bool:
    """Whether a statement does nothing else."""
    if not isinstance(line, ast.Expr) or not program.is_lone(line):
        return False
    return isinstance(line.value, ast.Call) and called(line.value) in _WAITS


_STEPS = 16
"""Where the finding prescribes no number."""


def steps_per_execution(
    program: Program,
    place: FaultPlace,
) -> list[Hit]:
    """`steps_per_execution`: Keras runs its Python and its callbacks once for several
    steps.

    One for each `compile` of a model that `fit` trains.
    https://keras.io/api/models/model_training_apis/#compile-method
    """
    if not program.calls("fit"):
        return []
    found, steps = [], place.number(r"steps_per_execution=(\d+)", _STEPS)
    for call in program.calls("compile"):
        if _can_run_several(call):
            edit = program.with_keyword(call, "steps_per_execution", steps)
            found.append(program.hit(call, f"steps_per_execution={steps}", edit))
    return found


def _can_run_several(call: Any) -> bool:
    """Whether a call of `compile` is Keras', and leaves open how many steps run in a
    call.
    """
    eagerly = keyword(call, "run_eagerly")
    if eagerly is not None and text_of(eagerly.value) == "True":
        return False
    given = keyword(call, "steps_per_execution") is not None
    return dotted(call.func) != "re.compile" and not given
