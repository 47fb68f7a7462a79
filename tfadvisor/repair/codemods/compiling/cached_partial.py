"""`nnx.cached_partial`: Flax looks through model and optimizer once, before the loop, instead of around each call of `nnx.jit`.

https://flax.readthedocs.io/en/latest/guides/performance.html
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import positional
from tfadvisor.repair.reading.compiled import decorator_of, traced_functions
from tfadvisor.repair.reading.loops import callee
from tfadvisor.repair.reading.names import unused, values_of
from tfadvisor.repair.reading.program import Change, Program, before, called, text_of

_NAME = "cached_partial"
_MODULES = ("Optimizer", "ModelAndOptimizer", "MultiMetric", "Rngs")
_SWITCHES = ("eval", "train", "set_attributes", "set_mode")
"""What they change in a module, what was kept of it does not see."""
_USUAL = ("model", "optimizer", "metrics")
"""Parameters of these names are modules."""


def hits(program: Program, place: Place) -> list[Hit]:
    """One for each compiled function, with all calls of it that begin with the same modules."""
    if (place.snippets and _NAME not in place.snippets) or _NAME in program.source or "nnx" not in program.source:
        return []
    if any(isinstance(one.func, cst.Attribute) for one in program.calls(*_SWITCHES)):
        return []
    grouped: dict[str, list[tuple[Any, int]]] = {}
    traced = traced_functions(program)
    for call in program.all(cst.Call):
        if isinstance(call.func, cst.Name) and _by_nnx(program, call.func):
            if any(one in traced for one in program.around(call)):
                continue
            grouped.setdefault(callee(call), []).append((call, _modules(program, call)))
    found = []
    for name, calls in grouped.items():
        hit = _hit(program, name, [call for call, _ in calls], min(count for _, count in calls))
        found += [] if hit is None else [hit]
    return found


def _by_nnx(program: Program, name: Any) -> bool:
    """Whether the name is a function that nnx.jit compiles: what it is given where it is called, or the one of that name."""
    values = values_of(program, name)
    if values:
        return len(values) == 1 and isinstance(values[0], cst.Call) and text_of(values[0]).startswith("nnx.jit(")
    functions = program.functions.get(str(name.value), [])
    decorated = [text_of(one.decorator) for each in functions if (one := decorator_of(each)) is not None]
    return len(functions) == 1 and len(decorated) == 1 and decorated[0].startswith("nnx.jit")


def _modules(program: Program, call: Any) -> int:
    """How many arguments it begins with that are modules."""
    count = 0
    for arg in positional(call):
        if not isinstance(arg.value, cst.Name) or not _is_module(program, arg.value):
            break
        count += 1
    return count


def _is_module(program: Program, name: Any) -> bool:
    values = values_of(program, name)
    if not values:
        return name.value in _USUAL and _owner(program, name) is not None
    own = {
        str(one.name.value)
        for one in program.all(cst.ClassDef)
        if any("Module" in text_of(base.value) for base in one.bases)
    }
    value = values[0]
    return len(values) == 1 and isinstance(value, cst.Call) and called(value) in (*_MODULES, *own)


def _owner(program: Program, name: Any) -> Any:
    """The function of which a name is a parameter."""
    for one in program.around(name):
        if isinstance(one, cst.FunctionDef | cst.Lambda) and any(
            param.name.value == name.value for param in one.params.params
        ):
            return one if isinstance(one, cst.FunctionDef) else None
    return None


def _hit(program: Program, name: str, calls: list[Any], count: int) -> Hit | None:
    modules = {tuple(text_of(arg.value) for arg in call.args[:count]) for call in calls}
    if not count or len(modules) != 1:
        return None
    places = {place for call in calls if (place := _outermost(program, call, count)) is not None}
    if len(places) != 1 and not _same_block(program, places):
        return None
    first_place = min(places, key=lambda one: program.lines(one)[0])
    cached = unused(program, f"cached_{name}")
    made = f"{cached} = nnx.{_NAME}({name}, {', '.join(next(iter(modules)))})\n"
    changes: dict[cst.CSTNode, Change] = {
        call: lambda now: now.with_changes(func=cst.Name(cached), args=now.args[count:]) for call in calls
    }
    changes[first_place] = before(program, made)
    first, last = program.lines(calls[-1])
    did = f"{name} keeps {' and '.join(next(iter(modules)))}"
    return Hit(first, last, did, program.changed(changes), (name, "<lambda>"))


def _same_block(program: Program, places: set[Any]) -> bool:
    return bool(places) and len({next(program.around(one)) for one in places}) == 1


def _outermost(program: Program, call: Any, count: int) -> Any:
    """The outermost statement around a call before which its modules and its function exist."""
    line = 0
    owner: Any = program.module
    for arg in call.args[:count]:
        values = values_of(program, arg.value)
        line = max([line, *(program.lines(one)[1] for one in values)])
        scope = program.scope(values[0]) if values else _owner(program, arg.value)
        owner = scope if isinstance(owner, cst.Module) else owner
    compiled = values_of(program, call.func) or program.functions.get(str(call.func.value), [])
    line = max([line, *(program.lines(one)[1] for one in compiled)])
    found = None
    for one in program.around(call):
        if one is owner:
            break
        statement = isinstance(one, cst.SimpleStatementLine | cst.BaseCompoundStatement)
        if statement and program.lines(one)[0] > line:
            found = one
    return found
