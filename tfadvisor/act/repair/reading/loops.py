"""The loops over steps of a program: which they are, what in them is the step, and how
often what they do else is done.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from tfadvisor.act.repair.reading.compiled import (
    functions_named,
    is_compiled,
    reached,
    reaches_step,
    traced_functions,
)
from tfadvisor.act.repair.reading.program import (
    FUNCTIONS,
    LOOPS,
    Program,
    called,
    once,
    text_of,
    walk,
)

_HOLDERS = (*FUNCTIONS, *LOOPS, ast.Lambda, ast.ClassDef)
"""What runs its body at another time, or again and again."""
_MARKER = re.compile(r"StepTraceAnnotation|profiler\.experimental\.Trace\(|step_marker")
_KERAS_STEPS = ("train_on_batch", "test_on_batch")
_MOST_LOOPS = 300
"""Of a file: among more nobody would choose one, and each is compared with each."""
_OVER_BATCHES = re.compile(
    r"[dD]ataset|[lL]oader|batches|data\b|steps|epoch_size|enumerate\(|zip\(|\bds\b"
)


def directly_in(node: Any) -> Iterator[Any]:
    """What runs with a body, not what a function that it defines or a loop inside it
    runs.
    """
    holds = isinstance(node, (*LOOPS, *FUNCTIONS))
    body = node.body if holds else [node]
    for child in body:
        yield from _shallow(child)


def _shallow(node: ast.AST) -> Iterator[Any]:
    yield node
    if isinstance(node, _HOLDERS):
        return
    for child in ast.iter_child_nodes(node):
        yield from _shallow(child)


def is_step(program: Program, call: Any) -> bool:
    """Whether a call runs a step: something compiled, a function that takes gradients,
    a Keras model on one batch.
    """
    if called(call) in _KERAS_STEPS or is_compiled(program, call.func):
        return True
    functions = functions_named(program, call.func)
    return any(reaches_step(program, function) for function in functions)


def steps_in(
    program: Program,
    body: Any,
) -> list[Any]:
    """The calls of a loop's or function's own body that run a step."""
    found = []
    for node in directly_in(body):
        if isinstance(node, ast.Call) and is_step(program, node):
            found.append(node)
    return found


@once
def step_loops(program: Program) -> tuple[Any, ...]:
    """Loops of which each turn is one step, not those over epochs and not those inside
    a step.
    """
    loops = program.all(*LOOPS)
    if len(loops) > _MOST_LOOPS:
        return ()

    found = [loop for loop in loops if _may_step(program, loop)]
    dropped: set[Any] = set()
    for inner in found:
        for outer in found:
            if outer is not inner and _runs(program, outer, inner):
                dropped.add(outer if _strong(inner) else inner)
    return tuple(loop for loop in found if loop not in dropped)


def _may_step(program: Program, loop: Any) -> bool:
    """Whether a loop that Python runs calls a step, or marks one."""
    traced = traced_functions(program)
    if any(outer in traced for outer in program.around(loop)):
        return False
    if steps_in(program, loop):
        return True
    has_loops = any(isinstance(node, LOOPS) for node in walk(loop.body))
    return not has_loops and bool(_MARKER.search(text_of(loop)))


def _runs(
    program: Program,
    outer: Any,
    inner: Any,
) -> bool:
    """Whether a turn of one loop runs the other: inside it, or in a function that it
    calls.
    """
    if outer in program.around(inner):
        return True
    owner = program.inside(inner, *FUNCTIONS)
    if owner is None:
        return False
    functions = _functions_called(program, outer)
    return any(owner in reached(program, function) for function in functions)


def _functions_called(
    program: Program,
    body: Any,
) -> list[Any]:
    """Functions of the module that a turn of a loop calls."""
    found: list[Any] = []
    for node in directly_in(body):
        if isinstance(node, ast.Call):
            found += functions_named(program, node.func)
    return found


def _strong(loop: Any) -> bool:
    """Signs of a loop over batches: a marker, `next`, a data set, a number of steps."""
    text = text_of(loop.body)
    over = text_of(loop.iter) if isinstance(loop, ast.For) else ""
    if _MARKER.search(text) or "next(" in text:
        return True
    return _OVER_BATCHES.search(over) is not None


# Whether a statement runs in each step.

_SAME_IN_ALL_STEPS = re.compile(
    r"(?:[\w.]{0,80}process_index\(\)|[\w.]{0,80}get_rank\(\)"
    r"|isinstance\([^()]{0,200}\)|is_\w{1,80}\(\))[ =0]{0,9}"
)


def is_rare(program: Program, node: Any) -> bool:
    """Whether a test in the loop, around the statement or before it, may skip steps."""
    for outer in program.around(node):
        if isinstance(node, ast.stmt) and _may_leave(program, node):
            return True
        if isinstance(outer, ast.If) and not _is_same_in_all_steps(outer.test):
            return True
        if isinstance(outer, LOOPS):
            break
        node = outer
    return False


def _is_same_in_all_steps(test: ast.AST) -> bool:
    return _SAME_IN_ALL_STEPS.fullmatch(text_of(test)) is not None


def _may_leave(program: Program, statement: Any) -> bool:
    """`if step % 100: continue` above it, or `return`."""
    block = program.block(statement)
    tests = [sibling for sibling in block if isinstance(sibling, ast.If)]
    above = [test for test in tests if test.lineno < statement.lineno]
    leaving = ast.Continue | ast.Return
    return any(isinstance(inner, leaving) for inner in walk(above))
