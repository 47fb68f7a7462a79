"""Copies of whole arguments that a program makes because it may not write into them: they are not donated."""

from __future__ import annotations

from tfadvisor.hlo.format.module import Instruction
from tfadvisor.hlo.questions.parameters import Argument, whole_arguments


def copied_argument(one: Instruction) -> Argument | None:
    """The argument of which an instruction makes a copy that becomes, changed, a result of the same shape.

    None for other instructions and for donated arguments. Raises TraceError for damaged bytes.
    """
    if one.opcode not in ("copy", "copy-start") or not one.operand_ids:
        return None
    program = one.computation.module
    if one.computation.id != program.entry.id or one.operands[0].opcode != "parameter":
        return None
    found = whole_arguments(program).get(one.operands[0].parameter_number)
    return found if found is not None and found.returned and not found.donated else None
