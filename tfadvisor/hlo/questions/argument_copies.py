"""Copies of whole arguments that a program makes because it may not write into them: they are not donated."""

from __future__ import annotations

from tfadvisor.hlo.format.instruction import Instruction
from tfadvisor.hlo.format.module import Module
from tfadvisor.hlo.questions.parameters import Argument, arguments


class CopiedArguments:
    """Of one program. Its arguments are read when a copy of one is first asked about."""

    def __init__(self, program: Module) -> None:
        """Reads nothing yet."""
        self._program = program
        self._arguments: dict[int, Argument] | None = None

    def copied_by(self, one: Instruction) -> Argument | None:
        """The argument of which an instruction makes a copy that becomes, changed, a result of the same shape.

        None for other instructions and for donated arguments. Raises TraceError for damaged bytes.
        """
        if one.opcode not in ("copy", "copy-start") or not one.operand_ids:
            return None
        if one.computation.id != self._program.entry.id or one.operands[0].opcode != "parameter":
            return None
        if self._arguments is None:
            self._arguments = {each.number: each for each in arguments(self._program) if not each.index}
        found = self._arguments.get(one.operands[0].parameter_number)
        return found if found is not None and found.returned and not found.donated else None
