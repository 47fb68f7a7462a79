"""How often a statement of a loop runs already: what a test around it, before it or inside what it calls leaves of the steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from tfadvisor.act.repair.reading.compiled import assigned_in, functions_named
from tfadvisor.act.repair.reading.pipelines import assignments
from tfadvisor.act.repair.reading.program import Program, names_in, text_of, walk

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
    for call in (one for one in walk(node) if isinstance(one, cst.Call)):
        for function in functions_named(program, call.func):
            yield from (one.test for one in walk(function.body) if isinstance(one, cst.If) and _is_remainder(one.test))


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


def _is_remainder(test: Any) -> bool:
    return any(isinstance(one, cst.Modulo) for one in walk(test))


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
