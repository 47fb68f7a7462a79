"""`jit_compile=True`: XLA fuses the step's ops into fewer kernels.

https://www.tensorflow.org/xla
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.hits import Hit, Place
from tfadvisor.act.repair.reading.compiled import traced_functions, words_reached
from tfadvisor.act.repair.reading.loops import callee, step_loops, steps_in
from tfadvisor.act.repair.reading.program import Change, Program, dotted, keyword, text_of, with_keyword

_FUNCTION = ("tf.function", "tensorflow.function")
_NOT_FOR_XLA = re.compile(
    r"summary\.|\bprint\(|tf\.(strings|io|py_function|numpy_function|debugging|unique|boolean_mask|ragged|string|lookup)\b"
    r"|as_string|StringLookup|TextVectorization|Hashing\(|RaggedTensor|logging\."
)
"""What XLA refuses or leaves out: summaries, text, printing, Python, shapes that hang on values."""


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each tf.function that is a loop's step, and for each Keras model that is trained."""
    if not program.imports("tensorflow") and not program.imports("keras"):
        return []
    steps = {callee(step) for loop in step_loops(program) for step in steps_in(program, loop)}
    found = []
    for function in program.all(cst.FunctionDef):
        name = str(function.name.value)
        for one in (decorator.decorator for decorator in function.decorators):
            if name in steps and _may_be_compiled(one) and not _NOT_FOR_XLA.search(words_reached(program, function)):
                found.append(_hit(program, one, program.lines(function), name))
    trained = program.calls("fit", "train_on_batch") if not _model_has_more(program) else []
    for call in program.calls("compile") if trained else ():
        if dotted(call.func) != "re.compile" and not _says(call, "True"):
            found.append(_hit(program, call, program.lines(call), "the model"))
    return found


def _model_has_more(program: Program) -> bool:
    """Whether a layer or step that Keras would compile, or one that the program makes, does what XLA cannot."""
    if any(_NOT_FOR_XLA.search(text_of(one)) for one in traced_functions(program)):
        return True
    return bool(program.calls("StringLookup", "TextVectorization", "Hashing"))


def _may_be_compiled(node: Any) -> bool:
    if isinstance(node, cst.Call):
        return dotted(node.func) in _FUNCTION and not _says(node, "True")
    return dotted(node) in _FUNCTION


def _says(call: Any, value: str) -> bool:
    given = keyword(call, "jit_compile")
    return given is not None and text_of(given.value) == value


def _hit(program: Program, node: Any, lines: tuple[int, int], name: str) -> Hit:
    changes: dict[cst.CSTNode, Change] = {node: _compiled}
    return Hit(*lines, f"jit_compile=True for {name}", program.changed(changes), (name,))


def _compiled(node: Any) -> Any:
    call = node if isinstance(node, cst.Call) else cst.Call(node)
    return with_keyword(call, "jit_compile", "True")
