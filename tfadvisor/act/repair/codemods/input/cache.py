"""`.cache()` behind the last stage that makes the same elements in each epoch, before any repeat.

Not behind a shuffle, whose order it would freeze: a map behind one goes before it. Not behind anything random.
https://www.tensorflow.org/guide/data_performance#caching
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.pipelines import carrier, is_random, pipeline_calls, stages
from tfadvisor.act.repair.reading.program import Change, Program, called, text_of


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
        if called(call) != "from_generator" and is_random(program, call):
            continue
        if "shuffle" in before:
            hit = _before_shuffle(program, call)
            found += [] if hit is None else [hit]
            continue
        changes = _with_repeat_behind(program, call) if "repeat" in before else {call: _cached}
        if changes:
            first, last = program.lines(call)
            found.append(Hit(first, last, f"cache behind {called(call)}", program.changed(changes)))
    return found


def _before_shuffle(program: Program, call: Any) -> Hit | None:
    """A map right behind shuffle and repeat goes before them, with its cache: elements keep their order."""
    mixed, node = [], call.func.value if isinstance(call.func, cst.Attribute) else None
    while isinstance(node, cst.Call) and called(node) in ("shuffle", "repeat") and isinstance(node.func, cst.Attribute):
        mixed.append(node)
        node = node.func.value
    if called(call) != "map" or not mixed or "shuffle" in stages(program, node) or "repeat" in stages(program, node):
        return None

    def moved(now: Any) -> Any:
        inner = now.func.value
        later = []
        for _ in mixed:
            later.append(inner)
            inner = inner.func.value
        inner = _cached(now.with_changes(func=now.func.with_changes(value=inner)))
        for one in reversed(later):
            inner = one.with_changes(func=one.func.with_changes(value=inner))
        return inner

    first, last = program.lines(call)
    return Hit(first, last, "map and cache before shuffle", program.changed({call: moved}))


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
