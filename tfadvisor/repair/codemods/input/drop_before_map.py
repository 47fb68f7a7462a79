"""`.map(f).shard(n, i)` becomes `.shard(n, i).map(f)`: what is dropped is dropped before any work is done on it.

The same for `take` and `skip`, and for a `filter` that looks at nothing but what the map hands on as it came.
https://www.tensorflow.org/api_docs/python/tf/data/Dataset#shard
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import keyword, positional
from tfadvisor.repair.reading.pipelines import functions_of_stage, pipeline_calls
from tfadvisor.repair.reading.program import Change, Program, called, names_in, pairs_of, text_of, walk

_DROPS = ("shard", "take", "skip", "filter")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each such stage behind one or more maps."""
    found = []
    for call in pipeline_calls(program, *_DROPS):
        maps = _maps_before(program, call, call.func.value)
        if maps:
            first, last = program.lines(call)
            did = f"{called(call)} before map"
            found.append(Hit(first, last, did, program.changed(_swapped(call, maps))))
            continue
        hit = _across_statements(program, call)
        found += [] if hit is None else [hit]
    return found


def _maps_before(program: Program, call: Any, node: Any) -> list[Any]:
    """The maps right before a stage that it may stand before, the last first."""
    found: list[Any] = []
    while isinstance(node, cst.Call) and called(node) == "map" and isinstance(node.func, cst.Attribute):
        if called(call) == "filter" and not _hands_on(program, node, call):
            break
        found.append(node)
        node = node.func.value
    return found


def _swapped(call: Any, maps: list[Any]) -> dict[cst.CSTNode, Change]:
    """The stage takes what the first of the maps took, the maps take the stage."""

    def changed(now: Any) -> Any:
        stages, node = [], now.func.value
        for _ in maps:
            stages.append(node)
            node = node.func.value
        node = now.with_changes(func=now.func.with_changes(value=node))
        for one in reversed(stages):
            node = one.with_changes(func=one.func.with_changes(value=node))
        return node

    return {call: changed}


def _across_statements(program: Program, call: Any) -> Hit | None:
    """`data = data.map(f)` and, as the next statement of this name, `data = data.shard(n, i)`."""
    line = program.statement(call)
    if not isinstance(call.func.value, cst.Name) or not _gives(line, call, str(call.func.value.value)):
        return None
    made, between = _made_before(program, line, str(call.func.value.value))
    maps = [] if made is None else _maps_before(program, call, made)
    given = {name for arg in call.args for name in names_in(arg)}
    if not maps or given & {name for one in between for name in _set_in(one)}:
        return None
    changes: dict[cst.CSTNode, Change] = {
        maps[-1]: lambda now: now.with_changes(
            func=now.func.with_changes(value=call.with_changes(func=call.func.with_changes(value=now.func.value)))
        ),
        line: lambda _: cst.RemovalSentinel.REMOVE,
    }
    return Hit(*program.lines(call), f"{called(call)} before map", program.changed(changes))


def _made_before(program: Program, line: Any, name: str) -> tuple[Any, list[Any]]:
    """What the last statement before this one that knows the name gives it, None if it does more; and what stands between."""
    block: Any = next(program.around(line))
    before = [one for one in block.body if program.lines(one)[1] < program.lines(line)[0]]
    places = [number for number, one in enumerate(before) if name in names_in(one)]
    made = before[places[-1]] if places else None
    if not isinstance(made, cst.SimpleStatementLine) or not isinstance(made.body[0], cst.Assign):
        return None, []
    value = made.body[0].value
    return (value, before[places[-1] + 1 :]) if _gives(made, value, name) else (None, [])


def _gives(line: Any, value: Any, name: str) -> bool:
    """Whether a statement does nothing but give this value to this name."""
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return False
    one = line.body[0]
    alone = isinstance(one, cst.Assign) and one.value is value and len(one.targets) == 1
    return alone and text_of(one.targets[0].target) == name


def _set_in(node: Any) -> set[str]:
    return {
        name
        for one in walk(node)
        if isinstance(one, cst.Assign)
        for target, _ in pairs_of(one)
        for name in names_in(target)
    }


def _hands_on(program: Program, mapped: Any, call: Any) -> bool:
    """Whether the filter reads only arguments that the map's function returns in their place, unchanged."""
    tests, functions = functions_of_stage(program, call), functions_of_stage(program, mapped)
    if keyword(call, "name") is not None or len(positional(call)) != 1 or len(tests) != 1 or len(functions) != 1:
        return False
    test, function = tests[0], functions[0]
    asked = [str(one.name.value) for one in test.params.params]
    given = [str(one.name.value) for one in function.params.params]
    if len(asked) != len(given) or len(given) < 2:
        return False
    returned = _returned(function)
    if returned is None or len(returned) != len(given):
        return False
    kept = {n for n, name in enumerate(given) if text_of(returned[n]) == name and name not in _set_in(function.body)}
    return {n for n, name in enumerate(asked) if name in names_in(test.body)} <= kept


def _returned(function: Any) -> list[Any] | None:
    if isinstance(function, cst.Lambda):
        value = function.body
    else:
        returns = [one for one in walk(function.body) if isinstance(one, cst.Return)]
        value = returns[0].value if len(returns) == 1 else None
    return [one.value for one in value.elements] if isinstance(value, cst.Tuple) else None
