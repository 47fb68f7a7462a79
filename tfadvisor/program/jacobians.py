"""How many outputs and inputs the function has of which a program gives the Jacobian,
by the shapes of what it is given and gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import msgspec

from tfadvisor.patterns import pattern
from tfadvisor.program.module import Module
from tfadvisor.program.shape import Shape

_PASSES = pattern(r"(?:^|/)vmap\((?:transpose\()?jvp\(")
"""Of a path of JAX: derivatives along many directions at once."""
_OUTER = pattern(r"vmap\(")


class Jacobian(msgspec.Struct, frozen=True):
    """The numbers that the function gives, and those that it is differentiated by."""

    outputs: int
    inputs: int


def takes_passes(path: str) -> bool:
    """Whether an op of this path takes derivatives along many directions, and nothing
    but these are batched.
    """
    found = _PASSES.search(path)
    return found is not None and not _OUTER.search(path[: found.start()])


@lru_cache(maxsize=16)  # asked for each op of a program
def jacobian_of(module: Module) -> Jacobian | None:
    """Of a program whose results are a Jacobian's blocks: each has the shape of the
    outputs, then that of one argument. None for others, and where several readings are
    possible. Raises TraceError for damaged bytes.
    """
    root = module.entry.root
    results = root.shape.parts if root.shape.is_tuple else (root.shape,)
    arguments = [
        parameter.shape
        for parameter in module.entry.parameters()
        if parameter.shape.is_floating and not parameter.shape.is_tuple
    ]
    if not results or not all(result.is_floating for result in results):
        return None
    found = {
        reading
        for axes in range(1, len(results[0].dims) + 1)
        if (reading := _read(results, arguments, axes)) is not None
    }
    return found.pop() if len(found) == 1 else None


def _read(
    results: Sequence[Shape], arguments: Sequence[Shape], axes: int
) -> Jacobian | None:
    """With so many axes for the outputs; None where the shapes do not fit."""
    outputs = results[0].dims[:axes]
    left = [argument.dims for argument in arguments]
    inputs = 0
    for result in results:
        of = result.dims[axes:]
        if result.dims[:axes] != outputs or of not in left:
            return None
        left.remove(of)
        inputs += prod(of)
    return Jacobian(prod(outputs), inputs)
