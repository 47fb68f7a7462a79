"""A Keras policy of 16 bits becomes one of 32 in a program that trains on a CPU.

https://www.tensorflow.org/guide/mixed_precision
"""

from __future__ import annotations

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.program import Program, instead

_POLICIES = ("mixed_bfloat16", "mixed_float16")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for all places that name such a policy."""
    named = [one for one in program.all(cst.SimpleString) if one.evaluated_value in _POLICIES]
    if not named:
        return []
    lines = [line for one in named for line in program.lines(one)]
    source = program.changed({one: instead(f"{one.quote}float32{one.quote}") for one in named})
    return [Hit(min(lines), max(lines), "policy float32", source)]
