"""`.cache()` behind the last stage that makes the same elements in each epoch, before any repeat.

Not behind a shuffle, whose order it would freeze, and not behind anything random.
https://www.tensorflow.org/guide/data_performance#caching
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.pipelines import carrier, is_random, pipeline_calls, stages
from tfadvisor.repair.reading.program import Change, Program, called, text_of


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each pipeline without a cache."""
    last_makers: dict[tuple[Any, str], Any] = {}
    makers = [call for call in program.calls("from_generator") if "Dataset" in text_of(call.func)]
    for call in sorted([*makers, *pipeline_calls(program, "map", "interleave")], key=program.end):
        last_makers[carrier(program, call)] = call
    if program.calls("cache"):
        return []
    found = []
    for call in last_makers.values():
        before = stages(program, call)[1:]
        if "shuffle" in before or (called(call) != "from_generator" and is_random(program, call)):
            continue
        changes = _with_repeat_behind(program, call) if "repeat" in before else {call: _cached}
        if changes:
            first, last = program.lines(call)
            found.append(Hit(first, last, f"cache behind {called(call)}", program.changed(changes)))
    return found


def _cached(node: Any) -> Any:
    return cst.Call(cst.Attribute(node, cst.Name("cache")))


def _with_repeat_behind(program: Program, call: Any) -> dict[cst.CSTNode, Change]:
    """A repeat without end comes behind the cache, which would never be full before it."""
    _, name = carrier(program, call)
    endless = [
        one
        for one in pipeline_calls(program, "repeat")
        if not one.args and program.lines(one)[0] <= program.lines(call)[1] and carrier(program, one)[1] == name
    ]
    if len(endless) != 1:
        return {}
    return {
        endless[0]: lambda now: now.func.value,
        call: lambda now: cst.Call(cst.Attribute(_cached(now), cst.Name("repeat"))),
    }
