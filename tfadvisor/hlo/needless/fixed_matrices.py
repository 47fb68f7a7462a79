"""Products with a large square matrix that the program only reads: an adjacency or a Laplacian, most often nearly all zeros."""

from __future__ import annotations

from tfadvisor.hlo.format.module import Instruction, Module
from tfadvisor.hlo.format.shape import Shape
from tfadvisor.hlo.questions.flow import PASSING, inside
from tfadvisor.hlo.questions.parameters import parameter_summary, whole_arguments

_LEAST = 1024
"""Matrices with fewer rows are ignored: bases of transforms and small mixing matrices."""
_SAME_VALUES = PASSING | {"convert", "transpose", "broadcast"}
_MOST_STEPS = 16


def fixed_matrix(one: Instruction) -> Shape | None:
    """The square matrix that an instruction multiplies, or that a product inside it does: a constant of the program or an
    argument that does not come back changed. None for other instructions, and where most of the program's arrays are only
    read: they are a model's weights in inference, or frozen ones. Raises TraceError for damaged bytes.
    """
    for part in inside(one):
        if part.opcode != "dot":
            continue
        for operand in part.operands[:2]:
            if _is_square(operand.shape) and _is_fixed(_source(one, operand)):
                return operand.shape
    return None


def _source(one: Instruction, operand: Instruction) -> Instruction | None:
    """Where an operand's values come from, out of the fusion around it too."""
    for _ in range(_MOST_STEPS):
        if operand.opcode == "parameter" and operand.computation.id != one.computation.id:
            place = operand.computation.parameters().index(operand)
            if place >= len(one.operand_ids):
                return None
            operand = one.computation.by_id(one.operand_ids[place])
        elif operand.opcode in _SAME_VALUES and operand.operand_ids:
            operand = operand.operands[0]
        else:
            return operand
    return None


def _is_fixed(source: Instruction | None) -> bool:
    if source is None:
        return False
    program = source.computation.module
    if not _trains(program):
        return False
    if source.opcode == "constant":
        return True
    if source.opcode != "parameter" or source.computation.id != program.entry.id:
        return False
    found = whole_arguments(program).get(source.parameter_number)
    return found is not None and not found.returned


def _trains(program: Module) -> bool:
    """Whether most of the arrays that it is given come back, as parameters and an optimizer's state do."""
    summary = parameter_summary(program)
    return 2 * summary.carried.arguments > summary.floating.arguments


def _is_square(shape: Shape) -> bool:
    return len(shape.dims) == 2 and shape.dims[0] == shape.dims[1] >= _LEAST
