"""A dense layer without `TimeDistributed`: it works on the last axis of any input, at once for all moments.

https://keras.io/api/layers/core_layers/dense/
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.pipelines import assignments
from tfadvisor.repair.reading.program import Program, called, text_of, walk

_LAST_AXIS = ("Dense", "EinsumDense", "Dropout", "Activation", "ReLU", "LeakyReLU")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each wrapped layer of which the program shows that it needs no wrapper."""
    found = []
    for call in program.calls("TimeDistributed"):
        if len(call.args) == 1 and _works_on_last_axis(program, call):
            first, last = program.lines(call)
            found.append(Hit(first, last, "no TimeDistributed", program.changed({call: lambda now: now.args[0].value})))
    return found


def _works_on_last_axis(program: Program, call: Any) -> bool:
    """The layer stands in the call, or comes from a list of such layers."""
    inner = call.args[0].value
    if isinstance(inner, cst.Call):
        return called(inner) in _LAST_AXIS
    around = program.inside(call, cst.ListComp, cst.GeneratorExp)
    if around is None or text_of(around.for_in.target) != text_of(inner):
        return False
    values = [one for one in assignments(program, text_of(around.for_in.iter)) if one is not around]
    layers = [called(one) for value in values for one in walk(value) if isinstance(one, cst.Call)]
    return bool(layers) and all(one in _LAST_AXIS for one in layers)
