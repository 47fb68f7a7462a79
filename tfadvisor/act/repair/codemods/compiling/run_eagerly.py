"""`run_eagerly=True` goes from a Keras model, which then compiles its step.

https://keras.io/api/models/model_training_apis/#compile-method
"""

from __future__ import annotations

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.program import Program, keyword, pairs, text_of


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each model that is compiled so, or set so afterwards."""
    values = [arg.value for call in program.calls("compile") if (arg := keyword(call, "run_eagerly")) is not None]
    values += [value for target, value in pairs(program) if text_of(target).endswith(".run_eagerly")]
    found = []
    for value in values:
        if text_of(value) == "True":
            first, last = program.lines(value)
            found.append(Hit(first, last, "run_eagerly=False", program.changed({value: lambda _: cst.Name("False")})))
    return found
