"""Numbers in a loop's variables that two runs of the same program share: losses,
batches, parameters, each as one number.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

_MOST_VALUES = 64
_MOST_ELEMENTS = 4_000_000
_MOST_ELEMENTS_OF_A_LIST = 1000
_DEPTH = 4
_SMALL_FLOATS = ("bfloat16", "float8_e4m3fn")
_OF_MODELS = ("keras", "tensorflow")
_NO_TREES = (str, bytes, int, type, type(None))
_PYTHON_NUMBERS = ("loss", "cost", "accuracy")
"""Numbers of Python's own are times and counters as often as results: only those with
such a name are looked at.
"""


def values_of(
    variables: Mapping[str, Any],
    targets: list[str],
    step: int,
) -> dict[str, float]:
    """After so many steps. `batch:` stands before what the loop reads, `value:` before
    all else.
    """
    found: dict[str, float] = {}
    for name, value in list(variables.items()):
        if len(found) >= _MOST_VALUES:
            break
        if name.startswith("__"):
            continue
        kind = "batch" if name in targets else "value"
        left = _MOST_VALUES - len(found)
        try:
            for place, number in itertools.islice(_numbers(name, value), left):
                found[f"{kind}:{place}@{step}"] = number
        except Exception:
            continue  # whatever it is, it cannot be compared
    return found


def logs_of(
    logs: Any,
    step: int,
) -> dict[str, float]:
    """Of what Keras gives its callbacks."""
    found = {}
    try:
        for name, value in dict(logs or {}).items():
            found[f"value:{name}@{step}"] = float(value)
    except Exception:
        return {}
    return found


def _numbers(
    name: str,
    value: Any,
) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        is_result = any(word in name.lower() for word in _PYTHON_NUMBERS)
        if is_result and math.isfinite(value):
            yield name, value
        return
    for number, leaf in enumerate(_leaves(value, _DEPTH)):
        size = _digest(leaf)
        if size is not None:
            yield f"{name}[{number}]", size


def _leaves(
    value: Any,
    depth: int,
) -> Iterator[Any]:
    """Arrays inside of containers, of pytrees, and of models with trainable
    variables.
    """
    if _is_array(value):
        yield value
    elif type(value) in (list, tuple, dict):
        if depth > 0 and len(value) <= _MOST_ELEMENTS_OF_A_LIST:
            items = value.values() if type(value) is dict else value
            for item in items:
                yield from _leaves(item, depth - 1)
    elif _is_model(value):
        yield from value.trainable_variables
    elif depth == _DEPTH and _may_be_a_tree(value):
        leaves = sys.modules["jax"].tree_util.tree_leaves(value)
        yield from filter(_is_array, leaves)


def _is_array(value: Any) -> bool:
    if isinstance(value, type) or not hasattr(type(value), "__array__"):
        return False
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _is_model(value: Any) -> bool:
    """Of Keras or TensorFlow."""
    library = type(value).__module__.partition(".")[0]
    return library in _OF_MODELS and hasattr(value, "trainable_variables")


def _may_be_a_tree(value: Any) -> bool:
    """Whether JAX may know what is in it."""
    return "jax" in sys.modules and not isinstance(value, _NO_TREES)


def _digest(array: Any) -> float | None:
    """The mean size of its elements, None where it has none that can be compared."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or getattr(array, "is_deleted", bool)():
        return None
    if math.prod(array.shape) > _MOST_ELEMENTS:
        return None

    given = numpy.asarray(array)
    is_odd = given.dtype.kind in "OSUMmV" and given.dtype.name not in _SMALL_FLOATS
    if given.size == 0 or is_odd:
        return None
    sizes = numpy.abs(given.astype(numpy.float64))
    size = float(sizes.mean())
    return size if math.isfinite(size) else None
