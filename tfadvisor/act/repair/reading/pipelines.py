"""tf.data pipelines: chains of calls, and the names that carry them from line to line."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from tfadvisor.act.repair.reading.compiled import functions_named, words_reached
from tfadvisor.act.repair.reading.program import Program, called, keyword, pairs, text_of, walk

CHAINED = frozenset(
    "map batch padded_batch ragged_batch shuffle repeat prefetch cache interleave filter with_options window flat_map take "
    "skip unbatch enumerate concatenate shard from_generator snapshot".split()
)
"""Methods of a dataset that give a dataset."""
_ITERATORS = ("iter", "as_numpy_iterator", "experimental_distribute_dataset", "distribute_datasets_from_function")
_RANDOM = ("random", "augment", "dropout")
_SEEDED = re.compile(r"\b(tf\.random\.|tf\.image\.)?stateless_\w+")


def links_of(node: cst.CSTNode) -> list[Any]:
    """The calls of a chain, the last first: `[batch(3), map(f)]` of `a.map(f).batch(3)`."""
    found = []
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        found.append(node)
        node = node.func.value
    return found


def root_of(node: cst.CSTNode) -> Any:
    """What a chain begins with: a name, or a call of something that is no method."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and called(node) in CHAINED:
        node = node.func.value
    return node


def assignments(program: Program, name: str) -> list[Any]:
    """Values that a name gets, in the order in which they are written."""
    return [value for target, value in pairs(program) if isinstance(target, cst.Name) and target.value == name]


def is_pipeline(program: Program, node: cst.CSTNode, depth: int = 5) -> bool:
    """Whether an expression is a tf.data pipeline: built from one here, in a name, or in a function of the module."""
    root = root_of(node)
    text = text_of(root)
    if "tf.data" in text or "Dataset" in text:
        return True
    if not depth:
        return False
    if isinstance(root, cst.Name):
        values = assignments(program, str(root.value))
        return any(is_pipeline(program, one, depth - 1) for one in values if one is not node and text_of(one) != text)
    if not isinstance(root, cst.Call):
        return False
    if called(root) in _ITERATORS:
        read = root.func.value if isinstance(root.func, cst.Attribute) else root.args[0].value if root.args else root
        return read is not root and is_pipeline(program, read, depth - 1)
    returned = [
        one.value
        for function in functions_named(program, root.func)
        for one in walk(function.body)
        if isinstance(one, cst.Return) and one.value is not None
    ]
    return any(is_pipeline(program, one, depth - 1) for one in returned)


def stages(program: Program, node: cst.CSTNode, depth: int = 5) -> list[str]:
    """Names of a pipeline's stages, the last first, followed through names and functions as far as they can be."""
    found = [called(one) for one in links_of(node)]
    root = root_of(node)
    if not depth:
        return found
    if isinstance(root, cst.Name):
        values = [one for one in assignments(program, str(root.value)) if one is not node]
        own = program.lines(node)[0] if node in program.nodes else None
        earlier = [one for one in values if own is None or program.lines(one)[0] < own]
        return found + (stages(program, earlier[-1], depth - 1) if earlier else [])
    if isinstance(root, cst.Call):
        for function in functions_named(program, root.func):
            for one in walk(function.body):
                if isinstance(one, cst.Return) and one.value is not None:
                    return found + stages(program, one.value, depth - 1)
    return found


def pipeline_calls(program: Program, *names: str) -> list[Any]:
    """Stages of these names in pipelines."""
    return [
        call
        for call in program.calls(*names)
        if isinstance(call.func, cst.Attribute) and is_pipeline(program, call.func.value)
    ]


def is_random(program: Program, call: Any) -> bool:
    """Whether a stage's function may give another result for the same element."""
    given = keyword(call, "map_func") or (call.args[0] if call.args else None)
    functions = [] if given is None else functions_named(program, given.value)
    text = _SEEDED.sub("", "".join([text_of(call), *(words_reached(program, one) for one in functions)]))
    return any(word in text for word in _RANDOM)


def carrier(program: Program, node: cst.CSTNode) -> tuple[Any, str]:
    """Which pipeline a stage belongs to: the function around it, and the name that its statement assigns or begins with."""
    statement = program.statement(node)
    assigned = next((one for one in walk(statement) if isinstance(one, cst.AssignTarget)), None)
    name = text_of(assigned.target) if assigned is not None else ""
    root = root_of(node)
    if isinstance(root, cst.Name) and assignments(program, str(root.value)):
        name = str(root.value)
    return program.scope(node), name
