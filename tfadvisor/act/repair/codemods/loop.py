"""What the loop does next to the step: waits, what it does each time, how many steps Keras runs in a call."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.reading.loops import directly_in, is_rare, step_loops
from tfadvisor.act.repair.reading.program import (
    Program,
    called,
    dotted,
    keyword,
    pairs,
    removed,
    text_of,
    with_keyword,
)
from tfadvisor.act.repair.registry import Hit, Place

_EVERY = 50
"""Where the finding prescribes no number."""
_NAME = re.compile(r"(?:^|(?<=\w_))(every|interval|freq|frequency|period)(?=_\w|$)", re.I)


def every_constant(program: Program, place: Place) -> list[Hit]:
    """A frequency of 1 that the program has a name for, `save_freq=1` or `if step % 1 == 0`, becomes the prescribed one.

    One for each such number: an assignment, an argument, a default, a remainder.
    """
    found, every = [], place.number(r"% (\d+) == 0", _EVERY)
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
