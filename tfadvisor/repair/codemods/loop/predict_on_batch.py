"""`model.predict` in a callback or loop builds a pipeline for each call; `predict_on_batch` calls the model alone.

https://keras.io/api/models/model_training_apis/#predictonbatch-method
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import keyword, without_keywords
from tfadvisor.repair.reading.loops import called_in_loop
from tfadvisor.repair.reading.program import Program, text_of

_OF_PREDICT = ("batch_size", "verbose", "steps", "callbacks", "workers", "use_multiprocessing", "max_queue_size")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each prediction that batches or steps ask for."""
    found = []
    for call in program.calls("predict"):
        if not isinstance(call.func, cst.Attribute) or not _is_of_keras(call) or not call.args:
            continue
        if _in_callback(program, call) or called_in_loop(program, call):
            first, last = program.lines(call)
            found.append(
                Hit(
                    first, last, "predict_on_batch instead of predict", program.changed({call: _on_batch}), ("predict",)
                )
            )
    return found


def _is_of_keras(call: Any) -> bool:
    """A model by its name, or by arguments that others' `predict` have not."""
    return "model" in text_of(call.func.value) or any(keyword(call, name) for name in ("verbose", "batch_size"))


def _in_callback(program: Program, call: Any) -> bool:
    owner = program.inside(call, cst.ClassDef)
    return owner is not None and any("Callback" in text_of(base.value) for base in owner.bases)


def _on_batch(call: Any) -> Any:
    call = without_keywords(call, *_OF_PREDICT)
    return call.with_changes(func=call.func.with_changes(attr=cst.Name("predict_on_batch")), args=call.args[:1])
