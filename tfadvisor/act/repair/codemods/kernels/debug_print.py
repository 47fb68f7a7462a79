"""`jax.debug.print` and `tf.print` go from the compiled step, which waits for Python at each.

https://docs.jax.dev/en/latest/debugging/print_breakpoint.html
"""

from __future__ import annotations

import libcst as cst

from tfadvisor.act.repair.codemods.loop.drop_wait import removed
from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.guards import is_rare
from tfadvisor.act.repair.reading.program import Program, dotted, text_of

_PRINTS = ("jax.debug.print", "tf.print", "debug.print", "jax.debug.callback")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each such statement that each step, or one in a few, runs."""
    found = []
    for line in program.all(cst.SimpleStatementLine):
        one = line.body[0]
        if (
            len(line.body) == 1
            and isinstance(one, cst.Expr)
            and isinstance(one.value, cst.Call)
            and dotted(one.value.func) in _PRINTS
            and not is_rare(program, line)
        ):
            first, last = program.lines(line)
            found.append(Hit(first, last, f"no {text_of(one)[:60]}", program.changed({line: removed(program, line)})))
    return found
