"""Numbers in a loop's variables that two runs of the same program share: losses,
batches, parameters, each as one number.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

_MOST_VALUES = 64
_MOST_ELEMENTS = 4_000_000
_MOST_ELEMENTS_OF_A_LIST = 1000
_DEPTH = 4
_SMALL_FLOATS = ("bfloat16", "float8_e4m3fn")
_PYTHON_NUMBERS = ("loss", "cost", "accuracy")
"""Numbers of Python's own are times and counters as often as results: only those with
such a name are looked at.
"""


def values_of(
    variables: Mapping[str, Any], targets: list[str], step: int
) -> dict[str, float]:
    """After so many steps. `batch:` stands before what the loop reads, `value:` before
    all else.
    """
    found: dict[str, float] = {}
    for name, value in list(variables.items()):
        if name.startswith("__") or len(found) >= _MOST_VALUES:
            continue
        kind = "batch" if name in targets else "value"
        try:
            for place, number in _numbers(name, value):
                found[f"{kind}:{place}@{step}"] = number
                if len(found) >= _MOST_VALUES:
                    break
        except Exception:
            continue  # whatever it is, it cannot be compared
    return found


def logs_of(logs: Any, step: int) -> dict[str, float]:
    """Of what Keras gives its callbacks."""
    try:
        return {
            f"value:{name}@{step}": float(value)
            for name, value in dict(logs or {}).items()
        }
    except Exception:
        return {}


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        if any(word in name.lower() for word in _PYTHON_NUMBERS) and math.isfinite(
            value
        ):
            yield name, value
        return
    for number, leaf in enumerate(_leaves(value, _DEPTH)):
        size = _digest(leaf)
        if size is not None:
            yield f"{name}[{number}]", size


def _leaves(value: Any, depth: int) -> Iterator[Any]:
    """Arrays inside of containers, of pytrees, and of models with trainable
    variables.
    """
    if _is_array(value):
        yield value
    elif type(value) in (list, tuple, dict):
        if depth == 0 or len(value) > _MOST_ELEMENTS_OF_A_LIST:
            return
        for one in value.values() if type(value) is dict else value:
            yield from _leaves(one, depth - 1)
    elif type(value).__module__.partition(".")[0] in (
        "keras",
        "tensorflow",
    ) and hasattr(value, "trainable_variables"):
        yield from value.trainable_variables
    elif (
        "jax" in sys.modules
        and depth == _DEPTH
        and not isinstance(value, (str, bytes, int, type, type(None)))
    ):
        leaves = sys.modules["jax"].tree_util.tree_leaves(value)
        yield from (one for one in leaves if _is_array(one))


def _is_array(value: Any) -> bool:
    return (
        hasattr(type(value), "__array__")
        and hasattr(value, "dtype")
        and hasattr(value, "shape")
        and not isinstance(value, type)
    )


def _digest(array: Any) -> float | None:
    """The mean size of its elements, None where it has none that can be compared."""
    numpy: Any = sys.modules.get("numpy")
    if (
        numpy is None
        or getattr(array, "is_deleted", bool)()
        or math.prod(array.shape) > _MOST_ELEMENTS
    ):
        return None
    given = numpy.asarray(array)
    if given.size == 0 or (
        given.dtype.kind in "OSUMmV" and given.dtype.name not in _SMALL_FLOATS
    ):
        return None
    size = float(numpy.abs(given.astype(numpy.float64)).mean())
    return size if math.isfinite(size) else None
