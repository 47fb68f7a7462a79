"""A Keras callback that works after each batch does so as often as the finding prescribes.

https://keras.io/guides/writing_your_own_callbacks/
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.codemods.loop.every_constant import steps_between
from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.program import Program, text_of

_METHODS = ("on_train_batch_end", "on_train_batch_begin", "on_batch_end", "on_batch_begin")
_HAS_ONE = re.compile(r"%")


def hits(program: Program, place: Place) -> list[Hit]:
    """One for each method of a callback that a batch runs."""
    found = []
    for one in program.all(cst.ClassDef):
        if not any("Callback" in text_of(base.value) for base in one.bases):
            continue
        for method in one.body.body:
            if (
                isinstance(method, cst.FunctionDef)
                and method.name.value in _METHODS
                and not _HAS_ONE.search(text_of(method.body))
            ):
                found.append(_hit(program, one, method, steps_between(place)))
    return found


def _hit(program: Program, one: Any, method: Any, every: str) -> Hit:
    batch = method.params.params[1].name.value
    guard = program.statements(f"if {batch} % {every}:\n    return\n")

    def guarded(body: Any) -> Any:
        lines = list(body.body)
        documented = isinstance(lines[0], cst.SimpleStatementLine) and isinstance(lines[0].body[0], cst.Expr)
        at = 1 if documented and isinstance(lines[0].body[0].value, cst.SimpleString) else 0
        return body.with_changes(body=[*lines[:at], *guard, *lines[at:]])

    first, last = program.lines(method)
    did = f"{one.name.value}.{method.name.value} every {every} batches"
    return Hit(first, last, did, program.changed({method.body: guarded}), (str(method.name.value),))
