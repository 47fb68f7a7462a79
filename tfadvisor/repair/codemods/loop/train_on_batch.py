"""`model.fit` of one batch in a loop builds a pipeline for each call; `train_on_batch` trains on it directly.

https://keras.io/api/models/model_training_apis/#trainonbatch-method
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import keyword, positional, without_keywords
from tfadvisor.repair.reading.program import Program, text_of

_OF_FIT = ("batch_size", "epochs", "verbose", "shuffle")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each fit of one epoch, without callbacks and validation, whose result the loop does not use."""
    found = []
    for call in program.calls("fit"):
        named = {str(arg.keyword.value) for arg in call.args if arg.keyword is not None}
        loop = program.inside(call, cst.For, cst.While, cst.FunctionDef)
        if not isinstance(loop, cst.For | cst.While) or len(positional(call)) != 2 or named - set(_OF_FIT):
            continue
        epochs = keyword(call, "epochs")
        if not isinstance(next(program.around(call)), cst.Expr) or (
            epochs is not None and text_of(epochs.value) != "1"
        ):
            continue
        first, last = program.lines(call)
        found.append(Hit(first, last, "train_on_batch instead of fit", program.changed({call: _on_batch})))
    return found


def _on_batch(call: Any) -> Any:
    return without_keywords(call, *_OF_FIT).with_changes(func=call.func.with_changes(attr=cst.Name("train_on_batch")))
