"""What the loop does next to the step: waits, what it does each time, how many steps
Keras runs in a call.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from tfadvisor.act.repair.reading.loops import directly_in, is_rare, step_loops
from tfadvisor.act.repair.reading.program import (
    Program,
    called,
    dotted,
    keyword,
    pairs,
    text_of,
)
from tfadvisor.act.repair.registry import Hit, Place

_EVERY = 50
"""Where the finding prescribes no number."""
_NAME = re.compile(
    r"(?:^|(?<=\w_))(every|interval|freq|frequency|period)(?=_\w|$)", re.I
)


def every_constant(program: Program, place: Place) -> list[Hit]:
    """A frequency of 1 that the program has a name for, `save_freq=1` or `if step % 1
    == 0`, becomes the prescribed one.

    One for each such number: an assignment, an argument, a default, a remainder.
    """
    every = place.number(r"% (\d+) == 0", _EVERY)
    return [
        program.hit(one, f"{name} {every} instead of 1", program.instead(one, every))
        for one, name in _ones(program)
    ]


def _ones(program: Program) -> list[tuple[Any, str]]:
    given = [(value, text_of(target)) for target, value in pairs(program)]
    given += [
        (one.value, one.arg) for one in program.all(ast.keyword) if one.arg is not None
    ]
    for one in (
        function.args for function in program.all(ast.FunctionDef, ast.AsyncFunctionDef)
    ):
        plain = [*one.posonlyargs, *one.args]
        given += [
            (default, name.arg)
            for name, default in zip(
                reversed(plain), reversed(one.defaults), strict=False
            )
        ]
        given += [
            (default, name.arg)
            for name, default in zip(one.kwonlyargs, one.kw_defaults, strict=True)
        ]
    named = [
        (value, name) for value, name in given if _NAME.search(name.split(".")[-1])
    ]
    remainders = [
        (one.right, "every")
        for one in program.all(ast.BinOp)
        if isinstance(one.op, ast.Mod)
    ]
    return [
        (value, name)
        for value, name in [*named, *remainders]
        if value is not None and program.written(value) == "1"
    ]


_WAITS = ("block_until_ready", "effects_barrier")


def drop_wait(program: Program, _place: Place) -> list[Hit]:
    """A wait for the device in every turn of the loop goes: the next step is dispatched
    while this one runs.

    One for each wait whose value nothing uses.
    https://docs.jax.dev/en/latest/async_dispatch.html
    """
    lines = [
        one
        for loop in step_loops(program)
        for one in directly_in(loop)
        if isinstance(one, ast.Expr) and program.is_lone(one)
    ]
    return [
        program.hit(line, f"no {text_of(line)[:60]} in the loop", program.removed(line))
        for line in lines
        if isinstance(line.value, ast.Call)
        and called(line.value) in _WAITS
        and not is_rare(program, line)
    ]


_STEPS = 16
"""Where the finding prescribes no number."""


def steps_per_execution(program: Program, place: Place) -> list[Hit]:
    """`steps_per_execution`: Keras runs its Python and its callbacks once for several
    steps.

    One for each `compile` of a model that `fit` trains.
    https://keras.io/api/models/model_training_apis/#compile-method
    """
    if not program.calls("fit"):
        return []
    found, steps = [], place.number(r"steps_per_execution=(\d+)", _STEPS)
    for call in program.calls("compile"):
        eagerly = keyword(call, "run_eagerly")
        told = keyword(call, "steps_per_execution") is not None or (
            eagerly and text_of(eagerly.value) == "True"
        )
        if dotted(call.func) != "re.compile" and not told:
            edit = program.with_keyword(call, "steps_per_execution", steps)
            found.append(program.hit(call, f"steps_per_execution={steps}", edit))
    return found
