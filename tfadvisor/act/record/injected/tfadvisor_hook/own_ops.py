"""Which lines of the program made the ops of TensorFlow's functions, and of what these
are made. A trace names ops and no line; TensorFlow keeps with each op the stack that
made it, and its inputs.
"""

from __future__ import annotations

import gc
import sys
import time
from itertools import compress
from typing import Any

from .own_sources import is_own

VERSION = 2
_MOST_OPS = 20_000
_MOST_SECONDS = 1.0
_LONGEST = 300
"""Characters of an op's name."""
_GRAPHS = "tensorflow.python.framework.func_graph"
_COMPUTE_NOTHING = frozenset(
    "Const Placeholder Identity IdentityN NoOp ReadVariableOp StopGradient".split()
)
OF_ARGUMENTS, OF_VARIABLES, OF_CONSTANTS = 0, 1, 2
"""What an op is made of, with all before it: an argument, a random number or anything
else that may change; of variables and constants alone; of constants.
"""
_READ_VARIABLES = frozenset("ReadVariableOp ResourceGather ResourceGatherNd".split())
_TRAINERS = ("trainer.py", "training.py", "training_v1.py")
"""Files of Keras whose callers make no op: they call fit."""


def own_ops() -> dict[str, Any]:
    """Of each op that a line of the program made: its name, its type, that line as
    numbers of a file and a function, and what it is made of. Nothing is held longer
    than it is looked at. Empty where a version of TensorFlow keeps stacks in another
    way.
    """
    try:
        return _noted()
    except Exception:  # a recording is worth more than its lines
        return {}


def _noted() -> dict[str, Any]:
    until = None
    files: dict[str, int] = {}
    functions: dict[str, int] = {}
    ops: list[tuple[str, str, int, int, int, int]] = []
    for op, made_of in _ops():
        until = until or time.monotonic() + _MOST_SECONDS  # from the first one on
        if len(ops) >= _MOST_OPS or time.monotonic() > until:
            break
        if op.type in _COMPUTE_NOTHING or len(op.name) > _LONGEST:
            continue
        frame = _own_frame(op.traceback)
        if frame is None:
            continue
        file = files.setdefault(frame.filename, len(files))
        function = functions.setdefault(frame.name, len(functions))
        ops.append((op.name, op.type, file, frame.lineno, function, made_of))
    return {
        "version": VERSION,
        "files": list(files),
        "functions": list(functions),
        "ops": ops,
    }


def _ops() -> Any:
    """(op, what it is made of) of all functions that TensorFlow has traced and the
    program still holds, with those of their loops and branches.
    """
    module = sys.modules.get(_GRAPHS)
    kinds = [kind for kind in [getattr(module, "FuncGraph", None)] if kind]
    for kind in kinds:
        kinds += kind.__subclasses__()
    for graph in _alive(frozenset(kinds)) if kinds else ():
        made_of = _captured(graph)
        for op in graph.get_operations():  # inputs come before what they make
            made_of[op.name] = _made_of(op, made_of)
            yield op, made_of[op.name]


def _alive(kinds: frozenset[type]) -> list[Any]:
    """All objects of these types. `gc.get_referrers` asks each object what it holds,
    which ends the process while TensorFlow runs ops one by one: some of theirs are not
    whole yet.
    """
    found = gc.get_objects()
    return list(compress(found, map(kinds.__contains__, map(type, found))))


def _captured(graph: Any) -> dict[str, int]:
    """By the name of each placeholder that stands for what a function takes from around
    it, and not as an argument. What it takes from another graph may change.
    """
    return {
        inner.op.name: _OF_CAPTURES.get(outer.dtype.name, OF_CONSTANTS)
        for outer, inner in getattr(graph, "captures", ())
        if type(outer).__name__ == "EagerTensor"
    }


_OF_CAPTURES = {"resource": OF_VARIABLES, "variant": OF_ARGUMENTS}


def _made_of(op: Any, known: dict[str, int]) -> int:
    if op.type == "Placeholder":
        return known.get(op.name, OF_ARGUMENTS)
    is_stateful = getattr(op, "_is_stateful", True)  # which older versions lack
    if is_stateful and op.type not in _READ_VARIABLES:
        return OF_ARGUMENTS
    inputs = (known.get(given.op.name, OF_ARGUMENTS) for given in op.inputs)
    return min(inputs, default=OF_CONSTANTS)


def _own_frame(stack: Any) -> Any:
    """The innermost line of the program; None where that only calls fit, which makes
    all ops of a model.
    """
    called = ""
    for frame in reversed(stack):
        if is_own(frame.filename):
            return None if called.endswith(_TRAINERS) else frame
        called = frame.filename
    return None
