"""`.map(f).shuffle(n)` becomes `.shuffle(n).map(f)`: the buffer fills with what is cheap to make.

Shuffling picks by place, so the elements come in the same order. Only where f makes one element of one, without chance.
https://www.tensorflow.org/guide/data_performance#reducing_memory_footprint
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.pipelines import is_random, pipeline_calls
from tfadvisor.act.repair.reading.program import Program, called


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each shuffle right behind a map."""
    found = []
    for shuffle in pipeline_calls(program, "shuffle"):
        mapped = shuffle.func.value
        if not isinstance(mapped, cst.Call) or called(mapped) != "map" or is_random(program, mapped):
            continue
        first, last = program.lines(shuffle)
        found.append(Hit(first, last, "shuffle before map", program.changed({shuffle: _swapped})))
    return found


def _swapped(shuffle: Any) -> Any:
    mapped = shuffle.func.value
    inner = shuffle.with_changes(func=shuffle.func.with_changes(value=mapped.func.value))
    return mapped.with_changes(func=mapped.func.with_changes(value=inner))
