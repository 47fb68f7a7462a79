"""`steps_per_execution`: Keras runs its Python and its callbacks once for several steps.

https://keras.io/api/models/model_training_apis/#compile-method
"""

from __future__ import annotations

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.program import Program, dotted, keyword, text_of, with_keyword

_STEPS = 16
"""Where the finding prescribes no number."""


def hits(program: Program, place: Place) -> list[Hit]:
    """One for each `compile` of a model that `fit` trains."""
    found, steps = [], place.number(r"steps_per_execution=(\d+)", _STEPS)
    if not program.calls("fit"):
        return []
    for call in program.calls("compile"):
        if dotted(call.func) == "re.compile" or keyword(call, "steps_per_execution") is not None:
            continue
        if keyword(call, "run_eagerly") is not None and text_of(keyword(call, "run_eagerly").value) == "True":
            continue
        first, last = program.lines(call)
        source = program.changed({call: lambda now: with_keyword(now, "steps_per_execution", steps)})
        found.append(Hit(first, last, f"steps_per_execution={steps}", source))
    return found
