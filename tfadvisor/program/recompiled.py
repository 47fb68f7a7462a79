"""Why a function was compiled anew, by the programs that it was compiled to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from tfadvisor.program.arguments_differ import Differing
from tfadvisor.program.attributes import partitions_of
from tfadvisor.program.module import Instruction, Module

SHAPE, DTYPE, ARGUMENTS = "shape", "dtype", "arguments"
SHARDING, VALUE, SAME = "sharding", "value", "same"
"""What differs: an axis, a type or the number of the arrays that it takes, over how
many devices it is spread, what it computes of arrays that are alike, or nothing that a
program shows.
"""
_MEANING = frozenset(
    {
        8,  # literal
        *(9, 11, 13, 14),  # parameter, kind of fusion, index in a tuple, dimensions
        *(15, 16, 50, 58),  # window, convolution, groups of features and of the batch
        *(17, 20, 21, 33, 34, 48),  # slices, padding, gather, scatter
        *(
            18,
            19,
            23,
            24,
            25,
            51,
            91,
        ),  # bits, distribution, epsilon, feature, precision
        *(
            28,
            30,
            31,
            32,
            59,
            62,
            63,
        ),  # call, dot, FFT, triangular, Cholesky, comparison
        *(
            60,
            66,
            67,
            69,
            70,
            72,
            81,
            85,
            90,
        ),  # sort, random, indices, top-k, ragged dot
    }
)
"""Fields of a HloInstructionProto that say what it computes: its name, its lines, its
id, and what the compiler chose for it do not.
"""
_MOST_SIZES = 4


class Recompilation(msgspec.Struct, frozen=True):
    """What differs between the programs of a function."""

    cause: str
    """One of those above."""
    words: str
    """Behind `since`: `axis 0 of x changed from 96 to 40`."""


FORGOTTEN = Recompilation("cache", "jax.clear_caches() is called in the steps")
MADE_ANEW = Recompilation(
    "function", "jax.jit is called in the steps, and each time gives a new function"
)
UNSEEN = Recompilation(
    "argument",
    "the same program was compiled again, although no step calls jax.jit: an argument "
    "changed in what no program shows, as a Python number in place of an array",
)
"""What frames of Python say of a program that is the same."""


def why_compiled(programs: Sequence[Module], arguments: Differing) -> Recompilation:
    """programs: at least two, the first one compiled before the others. arguments: how
    theirs differ. Raises TraceError for damaged bytes.
    """
    spread = [partitions_of(program) for program in programs]
    if len(set(spread)) > 1:
        devices = _listed(spread)
        words = f"its arrays lie on another number of devices: {devices}"
        return Recompilation(SHARDING, words)
    if arguments.words:
        return Recompilation(SHAPE, arguments.words)
    kinds = _other_kinds([_types(program) for program in programs])
    if kinds is not None:
        return kinds
    if len({_contents(program) for program in programs}) > 1:
        words = (
            "it computes something else of arrays that are alike: a Python value, a "
            "static argument or what it reads around it changed"
        )
        return Recompilation(VALUE, words)
    return Recompilation(SAME, "the same program was compiled again")


def _other_kinds(taken: Sequence[list[tuple[str, str]]]) -> Recompilation | None:
    """taken: of _types."""
    if len({len(types) for types in taken}) > 1:
        counts = _listed([len(types) for types in taken])
        return Recompilation(ARGUMENTS, f"it takes another number of arrays: {counts}")
    for arrays in zip(*taken, strict=True):
        name, types = arrays[0][0], [type_of for _, type_of in arrays]
        if len(set(types)) > 1:
            return Recompilation(DTYPE, f"{name} {_changed(types)}")
    return None


def _types(program: Module) -> list[tuple[str, str]]:
    """(name, type and number of axes of an array), in the order of the program."""
    found = []
    for parameter in program.entry.parameters():
        name = parameter.op_name or f"argument {parameter.parameter_number}"
        for leaf in parameter.shape.leaves():
            axes = ",".join("?" * len(leaf.dims))
            found.append((name, f"{leaf.dtype}[{axes}]"))
    return found


def _changed(values: Sequence[Hashable]) -> str:
    different = list(dict.fromkeys(values))
    if len(different) == 2:
        return f"changed from {different[0]} to {different[1]}"
    return f"changed: {_listed(values)}"


def _listed(values: Sequence[Hashable]) -> str:
    different = list(map(str, dict.fromkeys(values)))
    more = ", …" if len(different) > _MOST_SIZES else ""
    return f"{', '.join(different[:_MOST_SIZES])}{more}"


def _contents(program: Module) -> Hashable:
    """Equal for programs that compute the same, whatever their instructions are called
    and on which lines they were written.
    """
    found: list[Hashable] = []
    for computation in program.computations:
        place = {
            instruction.id: at
            for at, instruction in enumerate(computation.instructions)
        }
        for instruction in computation.instructions:
            operands = tuple(place.get(key) for key in instruction.operand_ids)
            found.append((operands, _content(instruction)))
    return tuple(found)


def _content(instruction: Instruction) -> Hashable:
    shapes = tuple((leaf.dtype, leaf.dims) for leaf in instruction.shape.leaves())
    meaning = tuple(
        (key, at if end < 0 else bytes(instruction.proto.data[at:end]))
        for key, at, end in instruction.fields
        if key >> 3 in _MEANING
    )
    return instruction.opcode, shapes, meaning
