"""`reduce_retracing=True`: a tf.function generalises over shapes that change instead of tracing anew for each.

https://www.tensorflow.org/api_docs/python/tf/function
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.loops import callee, directly_in
from tfadvisor.act.repair.reading.program import Program, dotted, keyword, with_keyword

_FUNCTION = ("tf.function", "tensorflow.function")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each tf.function that a loop calls, without its own signature."""
    calls = [
        call for loop in program.all(cst.For, cst.While) for call in directly_in(loop) if isinstance(call, cst.Call)
    ]
    in_loops = {callee(call) for call in calls} - {callee(call) for call in calls if _takes_new_object(program, call)}
    found = []
    for function in program.all(cst.FunctionDef):
        for decorator in function.decorators:
            if _may_generalise(decorator.decorator) and function.name.value in in_loops:
                first, last = program.lines(function)
                name = str(function.name.value)
                source = program.changed({decorator.decorator: _generalised})
                found.append(Hit(first, last, f"reduce_retracing=True for {name}", source, (name,)))
    return found


def _takes_new_object(program: Program, call: Any) -> bool:
    """An object of the program's own class is another one in every step, whatever its shapes."""
    classes = {str(one.name.value) for one in program.all(cst.ClassDef)}
    return any(isinstance(arg.value, cst.Call) and callee(arg.value) in classes for arg in call.args)


def _may_generalise(node: Any) -> bool:
    if isinstance(node, cst.Call):
        settled = keyword(node, "input_signature") is not None or keyword(node, "reduce_retracing") is not None
        return dotted(node.func) in _FUNCTION and not settled
    return dotted(node) in _FUNCTION


def _generalised(node: Any) -> Any:
    call = node if isinstance(node, cst.Call) else cst.Call(node)
    return with_keyword(call, "reduce_retracing", "True")
