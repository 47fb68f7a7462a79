"""Which call of a framework runs a program's steps, by the names of host events."""

from __future__ import annotations

from collections.abc import Sequence

from tfadvisor.patterns import pattern

_KERAS_FRAME = pattern(
    r"^\$(?:\S*keras/\S*|trainer\.py|training\.py):\d+ "
    r"(train_on_batch|test_on_batch|predict_on_batch|fit|evaluate|predict)$"
)
_OF_KERAS = (
    "train_on_batch",
    "test_on_batch",
    "predict_on_batch",
    "fit",
    "evaluate",
    "predict",
)
"""What a program calls of Keras, the innermost first: fit evaluates too."""
_OVER_DATASETS = pattern(
    r"__inference_(?:one|multi)_step_on_iterator(?:_distributed)?_\d+$"
)
_OF_ONE_BATCH = pattern(r"^EagerLocalExecute: __inference_one_step_on_data_\d+$")
"""Keras 3 calls the function itself only for data that no tf.data iterator gives."""
_OF_OLD_KERAS = pattern(r"__inference_(?:train|test|predict)_function_\d+$")
"""Keras 2 calls these for fit and for single batches."""
_TRAINS = pattern(r"(?:one|multi)_step_on_iterator|one_step_on_data$|train_function")
_PREDICTS = pattern(r"(?:one|multi)_step_on_data_distributed|predict_function")
"""What Keras calls for each batch in predict, and nowhere else."""
_STRATEGY_FRAME = pattern(r"^\$(?:\S*/)?distribute_lib\.py:\d+ run$")
_FUNCTION = pattern(r"^Eager\w*Execute: __inference_\w+_\d+$")
_JITTED = pattern(r"^(?:PjitFunction|CompiledFunction|PmapFunction)\(")
_BY_NAME = (
    ("train_on_batch", _OF_ONE_BATCH),
    ("fit", _OVER_DATASETS),
    ("keras", _OF_OLD_KERAS),
    ("strategy.run", _STRATEGY_FRAME),
    ("tf.function", _FUNCTION),
    ("jit", _JITTED),
)


def entry_point(names: tuple[str, ...]) -> str:
    """`train_on_batch`, `fit`, `evaluate` and the like of Keras, by its own frames or
    by the functions that it compiles (`keras` where these do not tell which); else
    `strategy.run`, `tf.function` or `jit`, which a loop of the program calls; "" where
    no name tells.
    """
    found = {
        match.group(1)
        for name in names
        if name.startswith("$") and (match := _KERAS_FRAME.match(name))
    }
    for method in _OF_KERAS:
        if method in found:
            return method
    for entry, written in _BY_NAME:
        if any(written.search(name) for name in names):
            return entry
    return ""


def without_prediction(functions: Sequence[str]) -> list[int]:
    """Indices of functions that may be the step: none that Keras calls only to predict,
    where it calls one that trains or tests as well.
    """
    trains = any(_TRAINS.search(name) for name in functions)
    return [
        index
        for index, name in enumerate(functions)
        if not (trains and _PREDICTS.search(name))
    ]
