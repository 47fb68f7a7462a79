"""The loops over steps of a program: which they are, what in them is the step, and how often what they do else is done."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from tfadvisor.act.repair.reading.compiled import (
    assigned_in,
    functions_named,
    is_compiled,
    reaches_step,
    traced_functions,
)
from tfadvisor.act.repair.reading.pipelines import assignments
from tfadvisor.act.repair.reading.program import (
    FUNCTIONS,
    LOOPS,
    Program,
    called,
    dotted,
    names_in,
    once,
    text_of,
    walk,
)

_MARKER = re.compile(r"StepTraceAnnotation|profiler\.experimental\.Trace\(|step_marker")
_KERAS_STEPS = ("train_on_batch", "test_on_batch")
_OVER_BATCHES = re.compile(r"[dD]ataset|[lL]oader|batches|data\b|steps|epoch_size|enumerate\(|zip\(|\bds\b")


def directly_in(node: Any) -> Iterator[Any]:
    """What runs with a body, not what a function that it defines or a loop inside it runs."""
    for child in node.body if isinstance(node, (*LOOPS, *FUNCTIONS)) else [node]:
        yield from _shallow(child)


def _shallow(node: ast.AST) -> Iterator[Any]:
    yield node
    if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef, *LOOPS)):
        for child in ast.iter_child_nodes(node):
            yield from _shallow(child)


def is_step(program: Program, call: Any) -> bool:
    """Whether a call runs a step: something compiled, a function that takes gradients, a Keras model on one batch."""
    if called(call) in _KERAS_STEPS or is_compiled(program, call.func):
        return True
    return any(reaches_step(program, one) for one in functions_named(program, call.func))


def steps_in(program: Program, body: Any) -> list[Any]:
    """The calls of a loop's or function's own body that run a step."""
    return [one for one in directly_in(body) if isinstance(one, ast.Call) and is_step(program, one)]


@once
def step_loops(program: Program) -> tuple[Any, ...]:
    """Loops of which each turn is one step, not those over epochs and not those inside a step."""
    traced = traced_functions(program)
    found = [
        loop
        for loop in program.all(*LOOPS)
        if not any(one in traced for one in program.around(loop))
        and (steps_in(program, loop) or (_MARKER.search(text_of(loop)) and not _holds_loop(loop)))
    ]
    dropped: set[Any] = set()
    for inner in found:
        for outer in found:
            if outer is not inner and _runs(program, outer, inner):
                dropped.add(outer if _strong(inner) else inner)
    return tuple(loop for loop in found if loop not in dropped)


def _holds_loop(loop: Any) -> bool:
    return any(isinstance(one, LOOPS) for one in walk(loop.body))


def _runs(program: Program, outer: Any, inner: Any) -> bool:
    """Whether a turn of one loop runs the other: inside it, or in a function that it calls."""
    if outer in program.around(inner):
        return True
    owner = program.inside(inner, *FUNCTIONS)
    return owner is not None and _calls(program, outer, owner, 3)


def _calls(program: Program, body: Any, function: Any, depth: int) -> bool:
    for call in (one for one in directly_in(body) if isinstance(one, ast.Call)):
        for one in functions_named(program, call.func):
            if one is function or (depth and one is not body and _calls(program, one, function, depth - 1)):
                return True
    return False


def _strong(loop: Any) -> bool:
    """Signs of a loop over batches: a marker, `next`, a data set, a number of steps."""
    text = text_of(loop.body)
    over = text_of(loop.iter) if isinstance(loop, ast.For) else ""
    return bool(_MARKER.search(text) or "next(" in text or _OVER_BATCHES.search(over))


def callee(call: Any) -> str:
    """As a finding names functions: the last part."""
    return dotted(call.func).split(".")[-1] or called(call)


# How often a statement of a loop runs already: what a test around it or before it leaves of the steps.

_SAME_IN_ALL_STEPS = re.compile(
    r"process_index\(\)|is_(main|chief|master|primary)\w{0,40}\(\)|get_rank\(\)|isinstance\("
)
_RARE = 100
"""Steps from one run to the next from which a print or a wait costs too little to be changed."""


def is_rare(program: Program, node: ast.AST) -> bool:
    """Whether a statement runs so seldom already, or a test skips steps and no number says how many."""
    loop = program.inside(node, *LOOPS)
    changing = set() if loop is None else assigned_in(loop)
    between = [_steps_between(program, test, changing) for test in _tests(program, node)]
    return 0 in between or max(between, default=1) >= _RARE


def _tests(program: Program, node: ast.AST) -> Iterator[Any]:
    """Of what decides whether the statement runs, as far as the program shows it."""
    inner = node
    for one in program.around(node):
        if isinstance(one, ast.If | ast.IfExp):
            yield one.test
        if isinstance(inner, ast.stmt):
            yield from _left_before(program, inner)
        if isinstance(one, FUNCTIONS):
            handed = [call for call in program.calls("cond") if any(dotted(arg) == one.name for arg in call.args)]
            yield from (call.args[0] for call in handed)
        if isinstance(one, LOOPS):
            break
        inner = one


def _left_before(program: Program, statement: ast.stmt) -> Iterator[Any]:
    """Tests of `if step % 100: continue` above the statement, or of `return` in a function."""
    leaves = ast.Continue if isinstance(program.inside(statement, *LOOPS, *FUNCTIONS), LOOPS) else ast.Return
    for one in program.block(statement):
        if one is statement:
            return
        if isinstance(one, ast.If) and any(isinstance(inner, leaves) for inner in walk(one.body)):
            yield one.test


def _steps_between(program: Program, test: Any, changing: set[str]) -> int:
    """From one run of what a test guards to the next; 0 where no number says how many."""
    for one in walk(test):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mod):
            values = assignments(program, one.right.id) if isinstance(one.right, ast.Name) else [one.right]
            numbers = [one.value for one in values if isinstance(one, ast.Constant) and isinstance(one.value, int)]
            return max(numbers) if numbers else 0
    calls = any(isinstance(one, ast.Call) for one in walk(test)) and not _SAME_IN_ALL_STEPS.search(text_of(test))
    return 0 if calls or names_in(test) & changing else 1
