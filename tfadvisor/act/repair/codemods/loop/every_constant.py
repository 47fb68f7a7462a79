"""A frequency of 1 that the program has a name for, `save_freq=1` or `if step % 1 == 0`, becomes the prescribed one."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.program import Program, pairs, text_of

_EVERY = 50
"""Where the finding prescribes no number."""
_NAME = re.compile(r"(?:^|(?<=\w_))(every|interval|freq|frequency|period)(?=_\w|$)", re.I)


def steps_between(place: Place) -> str:
    """How often the finding's fix does it: every so many steps."""
    return place.number(r"% (\d+) == 0", _EVERY)


def hits(program: Program, place: Place) -> list[Hit]:
    """One for each such number: an assignment, an argument, a default, a remainder."""
    found, every = [], steps_between(place)
    for value, name in _ones(program):
        first, last = program.lines(value)
        source = program.changed({value: lambda _: cst.Integer(every)})
        found.append(Hit(first, last, f"{name} {every} instead of 1", source))
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
