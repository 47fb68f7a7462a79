"""The loops over steps of a program: which they are, what in them is the step, and what else they do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from tfadvisor.act.repair.reading.compiled import (
    assigned_in,
    functions_named,
    is_compiled,
    reaches_step,
    traced_functions,
)
from tfadvisor.act.repair.reading.pipelines import assignments
from tfadvisor.act.repair.reading.program import Program, called, dotted, names_in, once, text_of, walk

_MARKER = re.compile(r"StepTraceAnnotation|profiler\.experimental\.Trace\(|step_marker")
_KERAS_STEPS = ("train_on_batch", "test_on_batch")
_OVER_BATCHES = re.compile(r"[dD]ataset|[lL]oader|batches|data\b|steps|epoch_size|enumerate\(|zip\(|\bds\b")
_OWN_BODY = (cst.FunctionDef, cst.Lambda, cst.ClassDef)


def directly_in(node: Any) -> Iterator[Any]:
    """What runs with a body, not what a function that it defines or a loop inside it runs."""
    for child in node.body.body if isinstance(node, cst.For | cst.While | cst.FunctionDef) else [node]:
        yield from _shallow(child)


def _shallow(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    if isinstance(node, (*_OWN_BODY, cst.For, cst.While)):
        return
    for child in node.children:
        yield from _shallow(child)


def is_step(program: Program, call: Any) -> bool:
    """Whether a call runs a step: something compiled, a function that takes gradients, a Keras model on one batch."""
    if called(call) in _KERAS_STEPS or is_compiled(program, call.func):
        return True
    return any(reaches_step(program, one) for one in functions_named(program, call.func))


def steps_in(program: Program, body: Any) -> list[Any]:
    """The calls of a loop's or function's own body that run a step."""
    return [one for one in directly_in(body) if isinstance(one, cst.Call) and is_step(program, one)]


@once
def step_loops(program: Program) -> tuple[Any, ...]:
    """Loops of which each turn is one step, not those over epochs and not those inside a step."""
    traced = traced_functions(program)
    found = [
        loop
        for loop in program.all(cst.For, cst.While)
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
    return any(isinstance(one, cst.For | cst.While) for one in walk(loop.body))


def _runs(program: Program, outer: Any, inner: Any) -> bool:
    """Whether a turn of one loop runs the other: inside it, or in a function that it calls."""
    if outer in program.around(inner):
        return True
    owner = program.inside(inner, cst.FunctionDef)
    return owner is not None and _calls(program, outer, owner, 3)


def _calls(program: Program, body: Any, function: Any, depth: int) -> bool:
    for call in (one for one in directly_in(body) if isinstance(one, cst.Call)):
        for one in functions_named(program, call.func):
            if one is function or (depth and one is not body and _calls(program, one, function, depth - 1)):
                return True
    return False


def _strong(loop: Any) -> bool:
    """Signs of a loop over batches: a marker, `next`, a data set, a number of steps."""
    text = text_of(loop.body)
    over = text_of(loop.iter) if isinstance(loop, cst.For) else ""
    return bool(_MARKER.search(text) or "next(" in text or _OVER_BATCHES.search(over))


def callee(call: Any) -> str:
    """As a finding names functions: the last part."""
    return dotted(call.func).split(".")[-1] or called(call)


# How often a statement of a loop runs already: what a test around it, before it or inside what it calls leaves of the steps.

_LOOPS = (cst.For, cst.While)
_SAME_IN_ALL_STEPS = re.compile(
    r"process_index\(\)|is_(main|chief|master|primary)\w{0,40}\(\)|get_rank\(\)|isinstance\("
)


RARE = 100
"""Steps from one run to the next from which a print or a wait costs too little to be changed."""


def is_rare(program: Program, node: Any) -> bool:
    """Whether a statement runs so seldom already, or nobody can say how often."""
    return not 0 < every(program, node) < RARE


def every(program: Program, node: Any) -> int:
    """Steps from one run of a statement to the next: 1 for each step, 0 where a test skips steps and no number says how many."""
    found = [_steps_between(program, test, _changing(program, node)) for test in _tests(program, node)]
    return 0 if 0 in found else max(found, default=1)


def _tests(program: Program, node: Any) -> Iterator[Any]:
    """Of what decides whether the statement runs, as far as the program shows it."""
    inner = node
    for one in program.around(node):
        if isinstance(one, cst.If | cst.IfExp):
            yield one.test
        if isinstance(one, cst.BaseSuite):
            yield from (other.test for other in _left_before(program, one, inner))
        if isinstance(one, cst.FunctionDef):
            handed = [call for call in program.calls("cond") if any(_names(arg.value, one) for arg in call.args)]
            yield from (call.args[0].value for call in handed)
        if isinstance(one, _LOOPS):
            break
        inner = one


def _names(node: Any, function: Any) -> bool:
    return isinstance(node, cst.Name) and bool(node.value == function.name.value)


def _left_before(program: Program, block: Any, statement: Any) -> Iterator[Any]:
    """`if step % 100: continue` above the statement, or `return` in a function."""
    in_loop = isinstance(program.inside(statement, *_LOOPS, cst.FunctionDef), _LOOPS)
    leaves = cst.Continue if in_loop else cst.Return
    for one in block.body:
        if one is statement:
            return
        if isinstance(one, cst.If) and any(isinstance(inner, leaves) for inner in walk(one.body)):
            yield one


def _changing(program: Program, node: Any) -> set[str]:
    """Names that get another value from step to step."""
    loop = program.inside(node, *_LOOPS)
    return set() if loop is None else assigned_in(loop)


def _steps_between(program: Program, test: Any, changing: set[str]) -> int:
    """As `every`, of one test."""
    for one in walk(test):
        if isinstance(one, cst.BinaryOperation) and isinstance(one.operator, cst.Modulo):
            values = assignments(program, str(one.right.value)) if isinstance(one.right, cst.Name) else [one.right]
            numbers = [int(text_of(value), 0) for value in values if isinstance(value, cst.Integer)]
            return max(numbers) if numbers else 0
    calls = any(isinstance(one, cst.Call) for one in walk(test)) and not _SAME_IN_ALL_STEPS.search(text_of(test))
    return 0 if calls or names_in(test) & changing else 1
