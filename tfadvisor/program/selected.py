"""Ops whose result counts only where a condition holds: nothing but a select between it
and something else uses it, as where vmap makes one of a cond, or nothing but one branch
of a conditional that is given it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.operations import SourceLocation, location_of
from tfadvisor.program.uses import NEEDED, uses


@lru_cache(maxsize=16)  # the hosts of a run share their programs
def selected(module: Module) -> Mapping[str, SourceLocation]:
    """By an instruction's name what chooses, if that is all that uses its result.
    Raises TraceError for damaged bytes.
    """
    chosen = _Chosen()
    results = [NEEDED] * max(len(module.entry.root.shape.parts), 1)
    found = uses(module, results, chosen.through)
    return {
        name: chosen.places[use] for name, use in found.items() if use in chosen.places
    }


class _Chosen:
    """The branches of what chooses, each with a bit of its own."""

    def __init__(self) -> None:
        self.places: dict[int, SourceLocation] = {}
        """By the bit of a branch, what chooses it."""
        self._bits: dict[tuple[str, int, int], int] = {}

    def through(self, chooses: Instruction, operand: int, use: int) -> int:
        """The use of one of its operands. The first one is what it chooses by; where
        its own result is chosen too, the outer choice decides.
        """
        location = location_of(chooses) if operand and use not in self.places else None
        if location is None or not location.file:
            return use
        branch = location.file, location.line, operand
        bit = self._bits.setdefault(branch, NEEDED << len(self._bits) + 1)
        self.places.setdefault(bit, location)
        return bit
