"""Weights of one model that Python reads as arrays of NumPy, mixes with another's and
writes there: the target network of reinforcement learning, a teacher, an average.
"""

from __future__ import annotations

import ast

from tfadvisor.causes.called import (
    COMPUTING,
    KEEPING,
    Function,
    calls_in,
    last_name,
    owner_of,
)
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.witness import function_around

NAME = "get_weights() to set_weights()"
"""In the terms of the table."""


def weights_mixed(call: ast.Call, function: ast.AST) -> str:
    """Of a call of get_weights or set_weights in a function that reads the weights of
    one object and writes those of another, code that assigns them within a tf.function,
    in the function's names; "" for other calls.
    """
    if last_name(call) not in ("get_weights", "set_weights"):
        return ""
    read = _owners(function, "get_weights")
    written = _owners(function, "set_weights")
    others = [each for each in read if each not in written]
    if len(others) != 1 or len(written) != 1:
        return ""
    target, source = written[0], others[0]
    are_names = target.isidentifier() and source.isidentifier()
    given = f"{target}, {source}" if are_names else ""
    name, assigned = "copy", "fast"
    if target in read:
        name, assigned = "mix", "slow + rate * (fast - slow)"
    return (
        "@tf.function\n"
        f"def {name}({given}):\n"
        f"    for slow, fast in zip({target}.weights, {source}.weights):\n"
        f"        slow.assign({assigned})\n"
        f"{name}({given})       # each step, or every N steps"
    )


def _owners(function: ast.AST, method: str) -> list[str]:
    """The objects of which a function calls it, as it writes them."""
    found = [
        ast.unparse(owner)
        for call in calls_in(function)
        if last_name(call) == method and (owner := owner_of(call)) is not None
    ]
    return list(dict.fromkeys(found))


def weights_mixed_on(parsed: ParsedFile, line: int) -> str:
    """As weights_mixed, of a line of a function that does nothing else with arrays; ""
    for others.
    """
    function = function_around(parsed.tree, line)
    if function is None or not _does_that_alone(function):
        return ""
    codes = (weights_mixed(call, function) for call in calls_in(function))
    return next(filter(None, codes), "")


def _does_that_alone(function: Function) -> bool:
    """Whether all that it calls are these methods, and what Python does with lists."""
    names = {last_name(call) for call in calls_in(function)}
    return names <= COMPUTING | KEEPING | {"get_weights", "set_weights"}
