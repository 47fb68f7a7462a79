"""`num_parallel_calls` for maps and interleaves that run one call after another.

https://www.tensorflow.org/guide/data_performance#parallelizing_data_transformation
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.pipelines import assignments, carrier, pipeline_calls
from tfadvisor.act.repair.reading.program import Program, called, keyword, positional, text_of, with_keyword

_AUTOTUNE = "tf.data.AUTOTUNE"
_BEFORE_IT = {"map": 1, "interleave": 3}
"""Positional arguments before num_parallel_calls."""


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each pipeline, with all of its stages that could run in parallel."""
    grouped: dict[tuple[Any, str], list[Any]] = {}
    for call in pipeline_calls(program, "map", "interleave"):
        if _is_sequential(program, call):
            grouped.setdefault(carrier(program, call), []).append(call)
    found = []
    for calls in grouped.values():
        lines = [program.lines(call)[0] for call in calls]
        changes = {call: lambda now: with_keyword(now, "num_parallel_calls", _AUTOTUNE) for call in calls}
        names = " and ".join(dict.fromkeys(called(call) for call in calls))
        found.append(
            Hit(
                min(lines),
                max(program.lines(call)[1] for call in calls),
                f"{names} in parallel",
                program.changed(changes),
            )
        )
    return found


def _is_sequential(program: Program, call: Any) -> bool:
    given = keyword(call, "num_parallel_calls")
    if given is None:
        return len(positional(call)) <= _BEFORE_IT[called(call)]
    values = [given.value]
    if isinstance(given.value, cst.Name):
        values += assignments(program, str(given.value.value))[-1:]
    return text_of(values[-1]) in ("None", "1")
