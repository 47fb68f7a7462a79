"""By which names Keras is known: the functions that its `fit` compiles, and its own files in Python frames."""

from __future__ import annotations

import re

_COMPILED = r"(?:multi_step_on_iterator|one_step_on_iterator|one_step_on_data|(?:train|test|predict)_function)"
_KERAS = re.compile(
    rf"__inference_{_COMPILED}_\d+$|\$(?:\S*keras/\S*|trainer\.py|training\.py):\d+ (?:fit|train_on_batch|{_COMPILED})$"
    r"|keras/src/trainers/"
)
"""`EagerLocalExecute: __inference_one_step_on_iterator_310`, `$trainer.py:260 fit`."""
_PY_DATASET = re.compile(r"PyDataset|KerasSequence|OrderedEnqueuer|\$(?:\S*/)?py_dataset_adapter\.py:")
"""`$py_dataset_adapter.py:241 get`; Keras 2 calls the same a Sequence."""


def is_keras(name: str) -> bool:
    """Whether an event is Keras' own training loop, or a function that it compiled."""
    return _KERAS.search(name) is not None


def is_py_dataset(name: str) -> bool:
    """Whether an event is Keras taking batches from a PyDataset or Sequence."""
    return _PY_DATASET.search(name) is not None
