"""A wait for the device in every turn of the loop goes: the next step is dispatched while this one runs.

https://docs.jax.dev/en/latest/async_dispatch.html
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.guards import is_rare
from tfadvisor.act.repair.reading.loops import directly_in, step_loops
from tfadvisor.act.repair.reading.program import Program, called, text_of

_WAITS = ("block_until_ready", "effects_barrier")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each wait whose value nothing uses."""
    found = []
    for loop in step_loops(program):
        for line in (one for one in directly_in(loop) if isinstance(one, cst.SimpleStatementLine)):
            if len(line.body) == 1 and isinstance(line.body[0], cst.Expr) and _is_wait(line.body[0].value):
                if is_rare(program, line):
                    continue
                first, last = program.lines(line)
                source = program.changed({line: removed(program, line)})
                found.append(Hit(first, last, f"no {text_of(line)[:60]} in the loop", source))
    return found


def _is_wait(node: Any) -> bool:
    return isinstance(node, cst.Call) and called(node) in _WAITS


def removed(program: Program, line: Any) -> Any:
    """Takes a statement away; `pass` stays where a block would be empty."""
    block = program.inside(line, cst.IndentedBlock)
    alone = block is not None and len(block.body) == 1
    return lambda node: node.with_changes(body=[cst.Pass()]) if alone else cst.RemovalSentinel.REMOVE
