"""A few rows drawn at random without sorting all of them, and the largest few by top-k.

https://docs.jax.dev/en/latest/_autosummary/jax.random.choice.html
"""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import keyword, positional, without_keywords
from tfadvisor.repair.reading.program import Change, Program, called, dotted, instead, text_of

_COUNT = re.compile(r"\d[\d_]*|[A-Z][A-Z0-9_]*|len\([^()]*\)|[\w.]+\.shape\[\d\]|[\w.]*\.?num_\w+")


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each."""
    found = []
    for node in program.all(cst.Subscript, cst.Call):
        text = _drawn(node) if isinstance(node, cst.Subscript) else None
        changes: dict[cst.CSTNode, Change] = {} if text is None else {node: instead(text)}
        if isinstance(node, cst.Call) and _without_replacement(node):
            changes = {node: lambda now: without_keywords(now, "replace")}
        if changes:
            first, last = program.lines(node)
            found.append(Hit(first, last, "a few without sorting all", program.changed(changes)))
    return found


def _without_replacement(call: Any) -> bool:
    given: Any = keyword(call, "replace")
    return (
        dotted(call.func) in ("jax.random.choice", "random.choice")
        and given is not None
        and text_of(given.value) == "False"
        and keyword(call, "p") is None
        and (len(positional(call)) > 2 or keyword(call, "shape") is not None)
    )


def _drawn(node: Any) -> str | None:
    """`shuffle(range(n))[:k]`, `permutation(key, n)[:k]`, `argsort(-x)[..., :k]`."""
    call, few = node.value, _first_few(node)
    if not isinstance(call, cst.Call) or few is None:
        return None
    args = [text_of(one.value) for one in positional(call)]
    if dotted(call.func) == "tf.random.shuffle" and args and len(node.slice) == 1:
        inner = call.args[0].value
        if isinstance(inner, cst.Call) and dotted(inner.func) == "tf.range" and len(inner.args) == 1:
            return f"tf.random.uniform([{few}], maxval={text_of(inner.args[0].value)}, dtype=tf.int32)"
    if dotted(call.func) == "jax.random.permutation" and len(call.args) == 2 and len(node.slice) == 1:
        return f"jax.random.randint({args[0]}, ({few},), 0, {args[1]})" if _COUNT.fullmatch(args[1]) else None
    if len(node.slice) == 2 and text_of(node.slice[0].slice) == "...":
        return _largest(call, few)
    return None


def _largest(call: Any, few: str) -> str | None:
    value = call.args[0].value if call.args else None
    if dotted(call.func) == "jnp.argsort" and len(call.args) == 1 and isinstance(value, cst.UnaryOperation):
        return (
            f"jax.lax.top_k({text_of(value.expression)}, {few})[1]" if isinstance(value.operator, cst.Minus) else None
        )
    direction: Any = keyword(call, "direction")
    down = direction is not None and text_of(direction.value).strip("\"'") == "DESCENDING"
    if called(call) == "argsort" and dotted(call.func) == "tf.argsort" and down and len(call.args) == 2:
        return f"tf.math.top_k({text_of(value)}, {few}).indices"
    return None


def _first_few(node: Any) -> str | None:
    """`k` of `[:k]` and `[..., :k]`."""
    last = node.slice[-1].slice
    if not isinstance(last, cst.Slice) or last.lower is not None or last.upper is None or last.step is not None:
        return None
    return None if isinstance(last.upper, cst.UnaryOperation) else text_of(last.upper)
