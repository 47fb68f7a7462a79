"""`tf.vectorized_map` for `tf.map_fn`: all elements at once instead of one after another.

https://www.tensorflow.org/api_docs/python/tf/vectorized_map
"""

from __future__ import annotations

from typing import Any

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.program import Program, dotted, expression

_OF_BOTH = ("fn", "elems")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each map over the first dimension."""
    found = []
    for call in program.calls("map_fn"):
        if dotted(call.func) in ("tf.map_fn", "tensorflow.map_fn"):
            first, last = program.lines(call)
            found.append(Hit(first, last, "tf.vectorized_map", program.changed({call: _vectorized})))
    return found


def _vectorized(call: Any) -> Any:
    kept = [arg for arg in call.args if arg.keyword is None or arg.keyword.value in _OF_BOTH][:2]
    kept[-1] = kept[-1].with_changes(comma=call.args[-1].comma)
    return call.with_changes(func=expression("tf.vectorized_map"), args=kept)
