"""`next(iter(dataset))` in a loop builds the pipeline anew for each batch: one iterator before the loop does not.

https://www.tensorflow.org/guide/data#consuming_elements
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.compiled import assigned_in
from tfadvisor.repair.reading.names import unused
from tfadvisor.repair.reading.pipelines import assignments, is_pipeline, root_of, stages
from tfadvisor.repair.reading.program import Change, Program, before, called, instead, names_in, text_of, walk


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each iterator that a loop, or a function that a loop calls, makes in every turn."""
    found = []
    for call in program.calls("next"):
        made = call.args[0].value if call.args else None
        body, own = _run_again(program, call)
        if not isinstance(made, cst.Call) or called(made) != "iter" or body is None:
            continue
        if names_in(made) & own or len(made.args) != 1:
            continue
        name = unused(program, "iterator")
        changes: dict[cst.CSTNode, Change] = {
            made: instead(name),
            body: before(program, f"{name} = iter({_without_end(program, made.args[0].value)})\n"),
        }
        first, last = program.lines(call)
        found.append(Hit(first, last, "one iterator for all steps", program.changed(changes)))
    return found


def _run_again(program: Program, node: Any) -> tuple[Any, set[str]]:
    """The loop that runs it, or the statement of the function that loops call to run it; with the names that change there."""
    inner = program.inside(node, cst.For, cst.While, cst.FunctionDef, cst.Lambda)
    if isinstance(inner, cst.For | cst.While):
        return inner, assigned_in(inner)
    if inner is None:
        return None, set()
    params = {str(one.name.value) for one in inner.params.params}
    if isinstance(inner, cst.FunctionDef):
        method = isinstance(program.inside(inner, cst.FunctionDef, cst.ClassDef), cst.ClassDef)
        name, body, own = str(inner.name.value), inner, params | assigned_in(inner.body)
        if method or inner.decorators:
            return None, set()
    else:
        body, own = program.statement(inner), params
        assigned = [one for one in walk(body) if isinstance(one, cst.Assign) and one.value is inner]
        name = text_of(assigned[0].targets[0].target) if assigned else ""
    return (body, own) if name and _called_by_loop(program, name) else (None, set())


def _called_by_loop(program: Program, name: str) -> bool:
    return any(
        isinstance(program.inside(call, cst.For, cst.While, cst.FunctionDef, cst.Lambda), cst.For | cst.While)
        for call in program.calls(name)
        if isinstance(call.func, cst.Name)
    )


def _without_end(program: Program, node: Any) -> str:
    """A pipeline that ends goes on from its start, as each new iterator did."""
    text = text_of(node)
    known = root_of(node)
    ends = is_pipeline(program, node) and "repeat" not in stages(program, node)
    complete = not isinstance(known, cst.Name) or bool(assignments(program, str(known.value)))
    return f"{text}.repeat()" if ends and complete else text
