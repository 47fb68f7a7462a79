"""`model.predict` in a callback or loop builds a pipeline for each call; `predict_on_batch` calls the model alone.

https://keras.io/api/models/model_training_apis/#predictonbatch-method
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import without_keywords
from tfadvisor.repair.reading.loops import step_loops
from tfadvisor.repair.reading.program import Program, text_of

_OF_PREDICT = ("batch_size", "verbose", "steps", "callbacks", "workers", "use_multiprocessing", "max_queue_size")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each prediction that batches or steps ask for."""
    found = []
    for call in program.calls("predict"):
        if not isinstance(call.func, cst.Attribute) or "model" not in text_of(call.func.value) or not call.args:
            continue
        if _in_callback(program, call) or any(loop in program.around(call) for loop in step_loops(program)):
            first, last = program.lines(call)
            found.append(
                Hit(
                    first, last, "predict_on_batch instead of predict", program.changed({call: _on_batch}), ("predict",)
                )
            )
    return found


def _in_callback(program: Program, call: Any) -> bool:
    owner = program.inside(call, cst.ClassDef)
    return owner is not None and any("Callback" in text_of(base.value) for base in owner.bases)


def _on_batch(call: Any) -> Any:
    call = without_keywords(call, *_OF_PREDICT)
    return call.with_changes(func=call.func.with_changes(attr=cst.Name("predict_on_batch")), args=call.args[:1])
