"""Settings left from debugging go: jit switched off, caches cleared, numbers checked, functions run eagerly."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.codemods.loop.drop_wait import removed
from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.program import Program, text_of

_SWITCH = re.compile(
    r"""config\.update\(\s*["'](jax_disable_jit|jax_debug_nans|jax_debug_infs)["']\s*,\s*True
    |jax\.clear_caches\(\)|config\.run_functions_eagerly\(\s*True|enable_check_numerics\(\)|enable_debug_mode\(\)""",
    re.X,
)


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each statement that only sets such a switch."""
    found = []
    for line in program.all(cst.SimpleStatementLine):
        if len(line.body) == 1 and isinstance(line.body[0], cst.Expr) and _SWITCH.search(text_of(line)):
            first, last = program.lines(line)
            found.append(Hit(first, last, f"no {_words(line)}", program.changed({line: removed(program, line)})))
    return found


def _words(line: Any) -> str:
    return text_of(line.body[0])[:60]
