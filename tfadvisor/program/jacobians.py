"""How many outputs and inputs the function has of which a program makes the Jacobian,
by the shapes of what it is given and gives, or of the directions that it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod

import msgspec

from tfadvisor.patterns import pattern
from tfadvisor.program.flow import PASSING, Users, kernel_computations
from tfadvisor.program.module import Computation, Instruction, Module
from tfadvisor.program.operations import SourceLocation, location_of
from tfadvisor.program.shape import Shape
from tfadvisor.tallies import listed

_PASSES = pattern(r"(?:^|/)vmap\((?:transpose\()?jvp\(")
"""Of a path of JAX: derivatives along many directions at once."""
_BACKWARD = pattern(r"vmap\(transpose\(")
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


# Within a program that does more.

Line = tuple[str, int]


@lru_cache(maxsize=16)  # asked for each op of a program
def jacobians_of_lines(module: Module) -> Mapping[Line, Jacobian]:
    """By the line that makes one: its directions are the rows of an identity matrix,
    which compares row with column there, and what leaves the pass along all of these
    has a number for each output, or input, and each of them. None of a line where
    several readings are possible. Raises TraceError for damaged bytes.
    """
    computations = [*kernel_computations(module)]
    placed = [
        (each, place)
        for computation in _with_fused(module, computations)
        for each in computation.instructions
        if (place := location_of(each)) is not None
    ]
    found: dict[Line, Jacobian] = {}
    for line, sizes in listed(_identities(placed)).items():
        if len(set(sizes)) > 1:
            continue
        leaving = _leaving(module.entry, computations, line)
        reading = _one_reading(sizes[0], leaving)
        if reading is not None:
            found[line] = reading
    return found


def _with_fused(
    module: Module, computations: Sequence[Computation]
) -> Iterator[Computation]:
    known = {computation.id for computation in computations}
    yield from computations
    for computation in module.computations:
        if computation.id not in known and len(computation.instructions) <= _MOST:
            yield computation


_MOST = 20_000
"""Instructions."""


def _identities(
    placed: Sequence[tuple[Instruction, SourceLocation]],
) -> Iterator[tuple[Line, int]]:
    """(line, rows) of comparisons of all rows with all columns."""
    for each, place in placed:
        rows, *others = each.shape.dims or (0,)
        if each.opcode == "compare" and others == [rows] and place.file:
            yield (place.file, place.line), rows


def _leaving(
    entry: Computation, computations: Sequence[Computation], line: Line
) -> Iterator[tuple[tuple[int, ...], bool]]:
    """(shape, whether it is a pass backward) of what a pass from a line hands on."""
    for computation in computations:
        users = Users(computation)
        for each in computation.instructions:
            place = location_of(each)
            if place is None or not _is_pass_of(place, line):
                continue
            is_result = computation is entry and entry.root in (each, *users.of(each))
            if _makes(each) and (is_result or _leaves(each, users)):
                backward = _BACKWARD.search(place.op_name) is not None
                yield each.shape.dims, backward


def _makes(each: Instruction) -> bool:
    return each.shape.is_floating and each.opcode not in PASSING


def _leaves(each: Instruction, users: Users) -> bool:
    """Whether what is no part of a pass uses it."""
    after = (location_of(user) for user in users.past_passing(each))
    paths = [place.op_name for place in after if place is not None]
    return any(path and not takes_passes(path) for path in paths)


def _is_pass_of(place: SourceLocation, line: Line) -> bool:
    lines = {(frame.file, frame.line) for frame in place.frames}
    return takes_passes(place.op_name) and line in lines


def _one_reading(
    rows: int, leaving: Iterator[tuple[tuple[int, ...], bool]]
) -> Jacobian | None:
    readings = {
        (prod(dims) // rows, backward) for dims, backward in leaving if rows in dims
    }
    if len(readings) != 1:
        return None
    numbers, backward = readings.pop()
    return Jacobian(rows, numbers) if backward else Jacobian(numbers, rows)
