"""A function of a module: an ordered list of instructions.

Source: `HloComputationProto` in openxla/xla, xla/service/hlo.proto. Operands stand before the instructions that use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfadvisor.hlo.format.instruction import Instruction
from tfadvisor.hlo.format.wire import Proto, entries, number_of, span, text_of

if TYPE_CHECKING:
    from tfadvisor.hlo.format.module import Module

_NAME, _INSTRUCTIONS, _ID, _ROOT = 1, span(2), 5, 6


class Computation:
    """The instructions and which of them is the result. Questions may raise TraceError."""

    __slots__ = ("_by_id", "_fields", "_instructions", "_proto", "id", "module", "position")

    def __init__(self, module: Module, proto: Proto, lo: int, hi: int, position: int) -> None:
        """position: how many computations stand before it in the module; those that it calls do."""
        self.module, self._proto, self.position = module, proto, position
        fields = entries(proto, lo, hi)
        self.id = number_of(fields, _ID)
        self._instructions = tuple(Instruction(self, proto, at, end) for key, at, end in fields if key == _INSTRUCTIONS)
        self._fields = [entry for entry in fields if entry[0] != _INSTRUCTIONS]
        self._by_id: dict[int, Instruction] | None = None

    @property
    def name(self) -> str:
        """`main.42`, `fused_computation.1`, …"""
        return text_of(self._proto, self._fields, _NAME)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """In the file's order."""
        return self._instructions

    @property
    def root(self) -> Instruction:
        """The instruction whose result is the computation's."""
        root_id = number_of(self._fields, _ROOT)
        if root_id or not self._instructions:
            return self.by_id(root_id)
        return self._ids().get(0, self._instructions[-1])

    def by_id(self, one: int) -> Instruction:
        """The instruction of an id."""
        found = self._ids().get(one)
        if found is None:
            raise self._proto.damaged(0, f"computation {self.name} has no instruction {one}")
        return found

    def parameters(self) -> tuple[Instruction, ...]:
        """By their number."""
        mine = [one for one in self._instructions if one.opcode == "parameter"]
        return tuple(sorted(mine, key=lambda one: one.parameter_number))

    def __repr__(self) -> str:
        """`Computation(main.42, 17 instructions)`."""
        return f"Computation({self.name}, {len(self._instructions)} instructions)"

    def _ids(self) -> dict[int, Instruction]:
        if self._by_id is None:
            self._by_id = {instruction.id: instruction for instruction in self._instructions}
        return self._by_id
