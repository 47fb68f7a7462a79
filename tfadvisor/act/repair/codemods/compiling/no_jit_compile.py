"""A tf.function with free dimensions goes without `jit_compile`: XLA compiles for each shape, TensorFlow's graph once for all.

https://www.tensorflow.org/xla/known_issues
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.pipelines import assignments
from tfadvisor.act.repair.reading.program import Program, dotted, keyword, text_of, without_keywords


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each function whose signature leaves a dimension open and that XLA compiles."""
    found = []
    for function in program.all(cst.FunctionDef):
        for one in (decorator.decorator for decorator in function.decorators):
            if _is_open_and_compiled(program, one):
                first, last = program.lines(function)
                name = str(function.name.value)
                source = program.changed({one: lambda now: without_keywords(now, "jit_compile")})
                found.append(Hit(first, last, f"no jit_compile for {name}", source, (name,)))
    return found


def _is_open_and_compiled(program: Program, node: Any) -> bool:
    if not isinstance(node, cst.Call) or dotted(node.func) != "tf.function":
        return False
    compiled, signature = keyword(node, "jit_compile"), keyword(node, "input_signature")
    if compiled is None or text_of(compiled.value) != "True" or signature is None:
        return False
    given = signature.value
    values = assignments(program, str(given.value)) if isinstance(given, cst.Name) else [given]
    return any("None" in text_of(value) for value in values)
